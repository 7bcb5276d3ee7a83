package peer

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeMaven notes how it was called and makes the jar; with offline false it fails for -o, as Maven
// does when the local repository lacks something.
func fakeMaven(t *testing.T, offline bool) (folder, log string) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake Maven is a shell script")
	}
	folder, bin := t.TempDir(), t.TempDir()
	log = filepath.Join(bin, "log")
	refuse := `case "$*" in *-o*) exit 1;; esac`
	if offline {
		refuse = ""
	}
	script := "#!/bin/sh\necho \"$*\" >>'" + log + "'\n" + refuse + "\n" +
		`case "$*" in *version=bad*) echo no such version; exit 1;; esac` + "\nmkdir -p target/1.0 && : >target/1.0/peer.jar\n"
	write(t, filepath.Join(bin, "mvn"), script)
	write(t, filepath.Join(bin, "javac"), "#!/bin/sh\necho javac 17.0.1\n")
	write(t, filepath.Join(folder, "pom.xml"), "<project/>")
	write(t, filepath.Join(folder, "src", "Main.java"), "class Main {}")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("JAVA_HOME", "")
	return folder, log
}

func write(t *testing.T, path, content string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
}

func runs(t *testing.T, log string) []string {
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func TestBuildRunsMavenOncePerStateOfTheSources(t *testing.T) {
	folder, log := fakeMaven(t, true)
	for range 2 {
		jar, err := build(t.Context(), folder, "1.0")
		require.NoError(t, err)
		require.FileExists(t, jar)
	}
	require.Len(t, runs(t, log), 1)
	require.Contains(t, runs(t, log)[0], "-o ")
	require.Contains(t, runs(t, log)[0], "-Dredisson.version=1.0")

	old := time.Unix(1, 0)
	require.NoError(t, os.Chtimes(filepath.Join(folder, "pom.xml"), old, old))
	_, err := build(t.Context(), folder, "1.0")
	require.NoError(t, err)
	require.Len(t, runs(t, log), 1, "times alone mean nothing")

	write(t, filepath.Join(folder, "src", "Main.java"), "class Main { }")
	_, err = build(t.Context(), folder, "1.0")
	require.NoError(t, err)
	require.Len(t, runs(t, log), 2)
}

func TestBuildGoesOnlineWhenOfflineDoesNotSuffice(t *testing.T) {
	folder, log := fakeMaven(t, false)
	_, err := build(t.Context(), folder, "1.0")
	require.NoError(t, err)
	require.Len(t, runs(t, log), 2)
	require.NotContains(t, runs(t, log)[1], "-o ")
}

func TestBuildShowsWhatMavenSaidAndTriesAgainNextTime(t *testing.T) {
	folder, log := fakeMaven(t, true)
	for range 2 {
		_, err := build(t.Context(), folder, "bad")
		require.ErrorContains(t, err, "no such version")
		require.NotErrorIs(t, err, errNoTools)
	}
	require.Len(t, runs(t, log), 4)
}

func TestAMissingToolIsTold(t *testing.T) {
	folder, _ := fakeMaven(t, true)
	t.Setenv("PATH", t.TempDir())
	_, err := build(t.Context(), folder, "1.0")
	require.ErrorIs(t, err, errNoTools)
	_, err = start(t.Context(), Options{})
	require.ErrorIs(t, err, errNoTools)
	require.ErrorContains(t, err, "java")
	require.NotContains(t, err.Error(), "\n")
}

// TestAnOldJDKIsTold has java and javac say what those of several versions say.
func TestAnOldJDKIsTold(t *testing.T) {
	for said, old := range map[string]string{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-1)": "",
		"Picked up JAVA_TOOL_OPTIONS: -Dx=11\nopenjdk version \"21\" 2023-09-19":                  "",
		"javac 25-ea":                  "",
		"openjdk version \"11.0.2\" 1": "11",
		"java version \"1.8.0_292\"":   "1",
		"javac 1.8.0_292":              "1",
	} {
		home := t.TempDir()
		path := filepath.Join(home, "bin", "javac")
		write(t, path, "#!/bin/sh\ncat >&2 <<'END'\n"+said+"\nEND\n")
		t.Setenv("JAVA_HOME", home)
		_, err := javaTool(t.Context(), "javac")
		if old == "" {
			require.NoError(t, err, said)
			continue
		}
		require.ErrorIs(t, err, errNoTools, said)
		require.EqualError(t, err, "needs a JDK 17 or later and Maven: "+path+" is of version "+old)
	}
}

func TestAToolThatSaysNothingOfUseIsNoMissingOne(t *testing.T) {
	home := t.TempDir()
	t.Setenv("JAVA_HOME", home)
	for script, says := range map[string]string{"echo hello": `says "hello`, "echo broken; exit 3": "exit status 3\nbroken"} {
		write(t, filepath.Join(home, "bin", "java"), "#!/bin/sh\n"+script+"\n")
		_, err := javaTool(t.Context(), "java")
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, errNoTools)
	}
}

// TestAMissingToolSkipsOrFails looks at the decision through a testing.TB that notes it.
func TestAMissingToolSkipsOrFails(t *testing.T) {
	t.Parallel()
	var noted noter
	skip(&noted, false, errNoTools)
	skip(&noted, true, errNoTools)
	require.Equal(t, []string{"skip", "fatal"}, noted.calls)
}

type noter struct {
	testing.TB
	calls []string
}

func (n *noter) Helper()               {}
func (n *noter) Skipf(string, ...any)  { n.calls = append(n.calls, "skip") }
func (n *noter) Fatalf(string, ...any) { n.calls = append(n.calls, "fatal") }
