package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// guarded starts a server with a user who has a password, and returns its address.
func guarded(t *testing.T, opts ...redistest.Option) string {
	server := redistest.Start(t, opts...)
	admin := server.Client(t)
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "ann", "on", ">s3cret", "~*", "&*", "+@all").Build()).Error())
	return server.Addr()
}

func passwordFile(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestPassword(t *testing.T) {
	t.Parallel()
	addr := guarded(t)
	right, wrong := passwordFile(t, "s3cret\n"), passwordFile(t, "wrong\n")
	for name, c := range map[string]struct {
		url, args string
		env       []string
		code      int
	}{
		"none":                          {url: "ann@", code: exit.Unavailable},
		"url":                           {url: "ann:s3cret@"},
		"environment":                   {url: "ann@", env: []string{envPassword + "=s3cret"}},
		"url over environment":          {url: "ann:s3cret@", env: []string{envPassword + "=wrong", envPasswordFile + "=" + wrong}},
		"file":                          {url: "ann@", args: "--password-file " + right},
		"file over url and environment": {url: "ann:wrong@", args: "--password-file " + right, env: []string{envPassword + "=wrong"}},
		"file of the environment":       {url: "ann@", env: []string{envPasswordFile + "=" + right}},
		"environment over its file":     {url: "ann@", env: []string{envPassword + "=s3cret", envPasswordFile + "=" + wrong}},
		"wrong file":                    {url: "ann:s3cret@", args: "--password-file " + wrong, code: exit.Unavailable},
		"empty file":                    {url: "ann@", args: "--password-file " + passwordFile(t, "\n"), code: exit.Usage},
		"no file":                       {url: "ann@", args: "--password-file " + right + ".none", code: exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"map ls m", "inspect x", "limit ls", "lock x -- true"} {
				env := append(c.env, envRedis+"=redis://"+c.url+addr)
				got := runHere(t, env, append(strings.Fields(c.args), strings.Fields(command)...)...)
				assert.Equal(t, c.code, got.code, "%s: %s", command, got.errors)
				assert.NotContains(t, got.errors, "s3cret")
			}
		})
	}
}

// TestFilesMayBePipes, whose text is there once, also for a command that connects several times.
func TestFilesMayBePipes(t *testing.T) {
	t.Parallel()
	pipe := func(text string) string {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { read.Close() })
		_, err = write.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, write.Close())
		return fmt.Sprintf("/dev/fd/%d", read.Fd())
	}
	plain, secret := guarded(t), guarded(t, redistest.TLSForAll())
	authority, _, _ := redistest.TLSFiles(t)
	ca, err := os.ReadFile(authority)
	require.NoError(t, err)
	for _, command := range []string{"sem ls", "inspect x", "lock x --export-password -- true"} {
		got := runHere(t, []string{envRedis + "=redis://ann@" + plain}, append([]string{"--password-file", pipe("s3cret\n")}, strings.Fields(command)...)...)
		assert.Zero(t, got.code, "%s: %s", command, got.errors)
		got = runHere(t, []string{envRedis + "=rediss://ann:s3cret@" + secret}, append([]string{"--cacert", pipe(string(ca))}, strings.Fields(command)...)...)
		assert.Zero(t, got.code, "%s: %s", command, got.errors)
	}
	got := runHere(t, []string{envRedis + "=redis://ann@" + plain}, "--password-file", pipe("s3cret\n"), "lock", "x", "--", "env")
	assert.NotContains(t, got.out, "/dev/fd/", "it is empty for CMD")
}

// TestCMDGetsNoPassword: unless --export-password says so, whatever the tool has it from.
func TestCMDGetsNoPassword(t *testing.T) {
	t.Parallel()
	addr := guarded(t)
	file := passwordFile(t, "s3cret")
	url := "redis://ann:s3cret@" + addr
	ways := map[string][]string{
		"url in the environment": {envRedis + "=" + url},
		"variable":               {envRedis + "=redis://ann@" + addr, envPassword + "=s3cret"},
		"both":                   {envRedis + "=" + url, envPassword + "=s3cret"},
		"file":                   {envRedis + "=redis://ann@" + addr, envPasswordFile + "=" + file},
	}
	require.Zero(t, runHere(t, ways["both"], "permit", "set", "p", "9").code)
	for name, env := range ways {
		for _, command := range []string{"lock l", "elect e", "permit run p", "job work j --drain"} {
			runs := func(flags string) said {
				require.Zero(t, runHere(t, env, "job", "add", "j", "body").code)
				args := append(strings.Fields(command), strings.Fields(flags)...)
				return runHere(t, env, append(args, "--", "env")...)
			}
			got := runs("")
			assert.Zero(t, got.code, got.errors)
			assert.NotContains(t, got.out, "s3cret", "%s: %s", name, command)
			assert.Contains(t, got.out, envRedis+"=redis://ann@"+addr+"\n", "%s: %s", name, command)
			if name == "file" {
				assert.Contains(t, got.out, envPasswordFile+"="+file+"\n", command)
			}
			got = runs("--export-password")
			assert.Zero(t, got.code, got.errors)
			assert.Contains(t, got.out, envPassword+"=s3cret\n", "%s: %s", name, command)
			assert.Equal(t, 1, strings.Count(got.out, envPassword+"="), "%s: %s", name, command)
		}
	}
	got := runHere(t, nil, "--redis", url, "lock", "l", "--", "env")
	assert.NotContains(t, got.out, "s3cret")
	got = runHere(t, []string{envRedis + "=redis://127.0.0.1:1"}, "lock", "l", "--export-password", "--", "true")
	assert.Equal(t, exit.Usage, got.code, "there is none")
	got = runHere(t, nil, "lock", "l", "--embedded", "--export-password", "--", "true")
	assert.Equal(t, exit.Usage, got.code)
	got = runHere(t, ways["both"], "lock", "l", "--embedded", "--", "env")
	assert.Zero(t, got.code, got.errors)
	assert.NotContains(t, got.out, "s3cret")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, cert, key := redistest.TLSFiles(t)
	strict, lax := redistest.Start(t, redistest.TLS()).Addr(), redistest.Start(t, redistest.TLSForAll()).Addr()
	plain := redistest.Shared(t).Addr()
	other, _, _ := redistest.TLSFiles(t)
	require.NoError(t, os.WriteFile(other, []byte("none"), 0o600))
	own := []string{envCACert + "=" + ca, envCert + "=" + cert, envKey + "=" + key}
	for name, c := range map[string]struct {
		url, args string
		env       []string
		code      int
		says      string
	}{
		"all flags":                     {url: "rediss://" + strict, args: "--cacert " + ca + " --cert " + cert + " --key " + key},
		"all of the environment":        {url: "rediss://" + strict, env: own},
		"no certificate":                {url: "rediss://" + strict, args: "--cacert " + ca, code: exit.Unavailable, says: strict},
		"none asked for":                {url: "rediss://" + lax, args: "--cacert " + ca},
		"an authority that is unknown":  {url: "rediss://" + lax, code: exit.Unavailable, says: "certificate"},
		"not verified":                  {url: "rediss://" + lax, args: "--insecure"},
		"not verified, the environment": {url: "rediss://" + lax, env: []string{envInsecure + "=true"}},
		"one of two":                    {url: "rediss://" + strict, args: "--cert " + cert, code: exit.Usage, says: "--cert and --key go together"},
		"no PEM":                        {url: "rediss://" + strict, args: "--cacert " + other, code: exit.Usage, says: "no certificate in PEM"},
		"no file":                       {url: "rediss://" + strict, args: "--cacert " + ca + ".none", code: exit.Usage, says: "--cacert"},
		"no pair":                       {url: "rediss://" + strict, args: "--cert " + ca + " --key " + key, code: exit.Usage, says: "--cert and --key"},
		"TLS on a plain port":           {url: "rediss://" + plain, code: exit.Unavailable, says: "without TLS"},
		"plain on a port of TLS":        {url: "redis://" + strict, code: exit.Unavailable, says: "use rediss://"},
		"not for a plain URL":           {url: "redis://" + strict, args: "--insecure", code: exit.Usage, says: "rediss://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"map ls m", "inspect x", "lock x -- true"} {
				got := runHere(t, append(c.env, envRedis+"="+c.url), append(strings.Fields(c.args), strings.Fields(command)...)...)
				assert.Equal(t, c.code, got.code, "%s: %s", command, got.errors)
				assert.Contains(t, got.errors, c.says, command)
			}
		})
	}
	p := start(t, "rediss://"+strict, "lock", "x", "--cacert", ca, "--cert", cert, "--key", key, "--", "sh", "-c", `"$TOOL" inspect x && echo reached`)
	p.await("reached")
}

// TestKeyOfLimitIsOfABucket: it is never taken for that of a certificate, nor the reverse.
func TestKeyOfLimitIsOfABucket(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.TLS())
	ca, cert, key := redistest.TLSFiles(t)
	env := []string{envRedis + "=rediss://" + server.Addr(), envCACert + "=" + ca, envCert + "=" + cert, envKey + "=" + key}
	require.Zero(t, runHere(t, env, "limit", "set", "l", "--rate", "1/h").code)
	require.Zero(t, runHere(t, env, "limit", "take", "l", "--key", "u").code)
	assert.Equal(t, exit.Refused, runHere(t, env, "limit", "take", "l", "--key", "u").code)
	assert.Zero(t, runHere(t, env, "limit", "take", "l").code)
	for _, args := range []string{"limit take l --cert " + cert + " --key " + key, "--cert " + cert + " --key " + key + " limit take l", "limit rm l --key u"} {
		got := runHere(t, env[:2], strings.Fields(args)...)
		assert.Equal(t, exit.Usage, got.code, args)
		assert.Contains(t, got.errors, envKey, args)
	}
}

func TestAddressWithoutScheme(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	got := runHere(t, nil, "--redis", strings.TrimPrefix(s.URL(), "redis://"), "lock", "x", "--", "sh", "-c", "echo $RUEIDISSON_REDIS")
	assert.Equal(t, said{out: strings.TrimPrefix(s.URL(), "redis://") + "\n"}, got)
	var reached server.Server
	reached.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError), []string{envRedis + "=ann:s3cret@host:6379"})
	env, err := reached.EnvOfCMD(nil, true)
	require.NoError(t, err)
	assert.Equal(t, []string{envRedis + "=redis://ann@host:6379", envPassword + "=s3cret"}, env)
}
