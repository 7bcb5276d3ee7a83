package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/stream"
)

func TestHelpOfObjects(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"latch ls", "sem ls", "permit ls", "barrier ls", "stream ls", "stream info", "stream rm",
		"barrier rm", "election rm", "map info", "queue info", "queue rm", "multimap get", "multimap put",
		"multimap", "multimap ls", "multimap info", "multimap rm", "election", "election ls", "election info",
	} {
		got := runHere(t, nil, append(strings.Fields(words), "--help")...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", strings.ReplaceAll(words, " ", "-")+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

// TestObjects: ls, info and rm of objects that are there, that are not, and that are of another kind.
func TestObjects(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	tool := func(args string) said { return runHere(t, env, strings.Fields(args)...) }
	c, err := rueidisson.Open(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	for _, args := range []string{
		"latch set a-latch 2", "latch set {t}:latch 2", "latch down a-latch --party p", "sem set a-sem 3", "permit set a-permit 2",
		"elect an-election --value v -- true", "map put a-map k v", "limit set a-limit --rate 5/s", "queue add a-queue v",
	} {
		got := tool(args)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
	}
	permit, err := c.PermitSemaphore("a-permit").Acquire(t.Context())
	require.NoError(t, err)
	err = multimap.NewList[string, string](c, "a-list").Put(t.Context(), "k", "v")
	require.NoError(t, err)
	_, err = multimap.NewSet[string, string](c, "a-set").Put(t.Context(), "k", "v")
	require.NoError(t, err)
	_, err = stream.New[string, string](c, "a-stream").Add(t.Context(), map[string]string{"f": "v"})
	require.NoError(t, err)

	for _, c := range []struct {
		args string
		out  []string
		code int
	}{
		{"latch ls", []string{"a-latch", "{t}:latch"}, 0},
		{"latch ls a*", []string{"a-latch"}, 0},
		{"latch ls no*", nil, 0},
		{"latch ls a* --json", []string{`{"name":"a-latch","kind":"latch"}`}, 0},
		{"sem ls", []string{"a-sem"}, 0},
		{"permit ls", []string{"a-permit"}, 0},
		{"permit ls --json", []string{`{"name":"a-permit","kind":"permit semaphore"}`}, 0},
		{"barrier ls", nil, 0},
		{"election ls", []string{"an-election"}, 0},
		{"election ls an* --json", []string{`{"name":"an-election","kind":"election"}`}, 0},
		{"multimap ls", []string{"a-list", "a-set"}, 0},
		{"stream ls", []string{"a-stream"}, 0},
		{"latch ls a b", nil, exit.Usage},
		{"sem ls --scan 0", nil, exit.Usage},
		{"stream info", nil, exit.Usage},
		{"multimap info a-set --json", []string{`{"name":"a-set","kind":"set multimap","held":false,"keys":1,"values":1,"ending":0,"remaining_ms":-1}`}, 0},
		{"multimap info no", nil, exit.Refused},
		{"multimap info no --json", []string{`{"name":"no","found":false}`}, exit.Refused},
		{"multimap info a-map", nil, exit.Unavailable},
		{"stream info a-stream --json", []string{`{"name":"a-stream","kind":"stream","held":false,"entries":1,"remaining_ms":-1}`}, 0},
		{"stream info a-map", nil, exit.Unavailable},
		{"election info an-election", []string{"name     an-election", "kind     election", "owner    nobody", "waiting  0"}, 0},
		{"election info a-map", nil, exit.Unavailable},
		{"election info no", nil, exit.Refused},
		{"multimap rm a-map", nil, exit.Unavailable},
		{"multimap rm a-list", []string{"a-list: removed"}, 0},
		{"multimap rm a-list", nil, exit.Refused},
		{"multimap rm a-set --json", []string{`{"name":"a-set","removed":true}`}, 0},
		{"multimap ls", nil, 0},
		{"stream rm a-map", nil, exit.Unavailable},
		{"stream rm a-stream", []string{"a-stream: removed"}, 0},
		{"stream rm a-stream --json", []string{`{"name":"a-stream","found":false}`}, exit.Refused},
	} {
		got := tool(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		var lines []string
		for line := range strings.Lines(got.out) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		if strings.Contains(c.args, " ls") {
			slices.Sort(lines) // SCAN has no order
		}
		if !strings.HasPrefix(c.args, "election info an") {
			require.Equal(t, c.out, lines, c.args)
			continue
		}
		require.Subset(t, lines, c.out[:2], got.out)
	}
	require.NoError(t, permit.Release(t.Context()))
}

// TestListsOfNamesWithBraces: a name with a hash tag is listed wherever the tag stands, and a pattern finds it.
func TestListsOfNamesWithBraces(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	tool := func(args string) said { return runHere(t, env, strings.Fields(args)...) }
	c, err := rueidisson.Open(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	for _, args := range []string{
		"latch set app:{latch} 2", "sem set app:{sem} 3", "elect app:{election} -- true", "elect {t}:election -- true",
		"elect election -- true", "limit set app --rate 5/d", "limit take app --key user", "limit take app --key 7",
	} {
		got := tool(args)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
	}
	require.NoError(t, multimap.NewList[string, string](c, "app:{multimap}").Put(t.Context(), "k", "v"))
	_, err = stream.New[string, string](c, "app:{stream}").Add(t.Context(), map[string]string{"f": "v"})
	require.NoError(t, err)
	for args, want := range map[string][]string{
		"latch ls":              {"app:{latch}"},
		"sem ls":                {"app:{sem}"},
		"multimap ls":           {"app:{multimap}"},
		"multimap ls app*":      {"app:{multimap}"},
		"stream ls":             {"app:{stream}"},
		"election ls":           {"app:{election}", "election", "{t}:election"},
		"election ls app*":      {"app:{election}"},
		"election ls *election": {"election", "{t}:election"},
		"election ls *}":        {"app:{election}"},
		"election ls {t}*":      {"{t}:election"},
		"election ls e*":        {"election"},
	} {
		got := tool(args)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
		names := strings.Fields(got.out)
		slices.Sort(names)
		assert.Equal(t, want, names, args)
	}
}

// TestListsGoOnBehindAForeignKey: a name whose other keys are of another type than an object's is left out, and does not
// end the list.
func TestListsGoOnBehindAForeignKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	b := client.B()
	for _, cmd := range []rueidis.Completed{
		b.Set().Key("number").Value("5").Build(), b.Set().Key("{number}:timeout").Value("x").Build(),
		b.Hset().Key("hash").FieldValue().FieldValue("parties", "2").FieldValue("gen", "0").Build(), b.Set().Key("{hash}:waiting").Value("x").Build(),
	} {
		require.NoError(t, client.Do(t.Context(), cmd).Error())
	}
	require.Zero(t, runHere(t, env, "sem", "set", "reports", "3").code)
	for noun, want := range map[string]string{"sem": "reports\n", "barrier": "", "multimap": ""} {
		assert.Equal(t, said{0, want, ""}, runHere(t, env, noun, "ls"), noun)
	}
}
