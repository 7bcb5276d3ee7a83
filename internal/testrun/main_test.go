package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events are lines as go test -json prints them.
func events(all ...gotest.Event) string {
	var out strings.Builder
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

func started(test string) gotest.Event {
	return gotest.Event{Action: "run", Package: "p", Test: test}
}

func said(test, text string) gotest.Event {
	return gotest.Event{Action: "output", Package: "p", Test: test, Output: text}
}

func ended(action, test string, seconds float64) gotest.Event {
	return gotest.Event{Action: action, Package: "p", Test: test, Elapsed: seconds}
}

// told runs a command that prints the text and ends with the code.
func told(t *testing.T, text string, code int) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	err := run(t.Context(), options{command: []string{"sh", "-c", fmt.Sprintf(`cat "$1"; exit %d`, code), "sh", file}}, &out)
	return out.String(), err
}

// afterPace returns what comes after the first line, which says how fast the machine is.
func afterPace(t *testing.T, output string) string {
	t.Helper()
	first, rest, found := strings.Cut(output, "\n")
	require.True(t, found)
	require.Regexp(t, `^pace \d+\.\d: \d+ packages and \d+ tests of each at once$`, first)
	return rest
}

func TestWhatIsPrinted(t *testing.T) {
	t.Parallel()
	passes := events(started("TestA"), said("TestA", "=== RUN   TestA\n"), said("TestA", "    a_test.go:1: a log\n"),
		said("TestA", "--- PASS: TestA (1.00s)\n"), ended("pass", "TestA", 0))
	race := events(started("TestA"), said("TestA", "=== RUN   TestA\n"), said("TestA", "WARNING: DATA RACE\n"),
		said("TestA", "--- PASS: TestA (1.00s)\n"), ended("pass", "TestA", 0))
	for name, c := range map[string]struct {
		input, output string
	}{
		"a line for each package": {passes + events(said("", "PASS\n"), said("", "ok  \tp\t1.0s\n"), ended("pass", "", 0)), "ok  \tp\t1.0s\n"},
		"what tools print":        {"a tool prints\n", "a tool prints\n"},
		"what the compiler says":  {events(gotest.Event{Action: "build-output", Output: "p.go:1: undefined\n"}), "p.go:1: undefined\n"},
		"all that a failed test said": {passes + events(started("TestB"), said("TestB", "=== RUN   TestB\n"), said("TestB", "    b_test.go:1: why\n"),
			said("TestB", "printed\n"), said("TestB", "--- FAIL: TestB (1.00s)\n"), ended("fail", "TestB", 0)),
			"    b_test.go:1: why\nprinted\n--- FAIL: TestB (1.00s)\n"},
		"why a test is skipped": {events(started("TestB"), said("TestB", "    b_test.go:1: why\n"), ended("skip", "TestB", 0)), "    b_test.go:1: why\n"},
		"a test that was cut short": {passes + events(started("TestB"), said("TestB", "panic: timed out\n"), said("", "FAIL\tp\t1.0s\n"), ended("fail", "", 0)),
			"FAIL\tp\t1.0s\npanic: timed out\n"},
		"a run that was cut short":      {events(started("TestB"), said("TestB", "    b_test.go:1: so far\n")), "    b_test.go:1: so far\n"},
		"a race beside a test":          {race + events(said("", "FAIL\tp\t1.0s\n"), ended("fail", "", 0)), "FAIL\tp\t1.0s\nWARNING: DATA RACE\n--- PASS: TestA (1.00s)\n"},
		"a print beside a test, passed": {race + events(said("", "ok  \tp\t1.0s\n"), ended("pass", "", 0)), "ok  \tp\t1.0s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := told(t, c.input, 0)
			require.Equal(t, c.output, afterPace(t, got))
		})
	}
}

func TestWhatFails(t *testing.T) {
	t.Parallel()
	good := events(started("TestA"), ended("pass", "TestA", 0), ended("pass", "", 0))
	for name, c := range map[string]struct {
		input string
		code  int
		says  string
	}{
		"nothing":                     {good, 0, ""},
		"go test alone":               {good, 1, "exit status 1"},
		"a test":                      {events(started("TestA"), ended("fail", "TestA", 0), ended("fail", "", 0)), 0, "failed: p TestA\nfailed: p"},
		"a package without its tests": {events(ended("fail", "", 0)), 0, "failed: p"},
		"a test that does not end":    {events(started("TestA"), ended("pass", "", 0)), 0, "cut short: p TestA"},
		"a package that does not end": {events(started("")), 0, "cut short: p"},
		"no test at all":              {"no events\n", 0, "no test has run"},
		"one that was skipped":        {events(started("TestA"), ended("skip", "TestA", 0), ended("pass", "", 0)), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := told(t, c.input, c.code); c.says == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.says)
			}
		})
	}
}

func TestTheSlowestAreTold(t *testing.T) {
	t.Parallel()
	var all []gotest.Event
	for i := range shown + 2 {
		all = append(all, ended("pass", fmt.Sprintf("TestA/%02d", i), 0.5+float64(i)))
	}
	all = append(all, ended("pass", "TestA", 90), ended("pass", "TestB", 3), ended("skip", "TestC", 0), ended("pass", "", 100),
		gotest.Event{Action: "pass", Package: "q", Elapsed: 7.25})
	got, err := told(t, events(all...), 0)
	require.NoError(t, err)
	require.Equal(t, `
slowest packages
  100.00s  p
    7.25s  q

slowest tests
   11.50s  p TestA/11
   10.50s  p TestA/10
    9.50s  p TestA/09
    8.50s  p TestA/08
    7.50s  p TestA/07
    6.50s  p TestA/06
    5.50s  p TestA/05
    4.50s  p TestA/04
    3.50s  p TestA/03
    3.00s  p TestB
`, afterPace(t, got))
}

func TestFullCountsAreTold(t *testing.T) {
	t.Parallel()
	attr := func(key, value string) gotest.Event {
		return gotest.Event{Action: "attr", Package: "p", Test: "TestA", Key: key, Value: value}
	}
	got, err := told(t, events(started("TestA"), attr("soak", "100 instead of 1"), attr("footnote", "x"), attr("soak", "1m0s instead of 1s"),
		ended("pass", "TestA", 61)), 0)
	require.NoError(t, err)
	require.Contains(t, got, "\nfull counts\n   61.00s  p TestA: 100 instead of 1\n   61.00s  p TestA: 1m0s instead of 1s\n")
}

func TestARunThatTakesTooLongIsEndedWithWhatItStarted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	file := filepath.Join(t.TempDir(), "events")
	require.NoError(t, os.WriteFile(file, []byte(events(started("TestA"))), 0o600))
	const within = 300 * time.Millisecond
	err := run(t.Context(), options{within: within, command: []string{"sh", "-c", `sleep 600 & cat "$1"; wait`, "sh", file}}, &out)
	require.ErrorContains(t, err, fmt.Sprintf("ended after %v, which is how long it may take\ncut short: p TestA", pace.Scale(within)))
	require.False(t, errors.Is(err, exec.ErrWaitDelay), "whoever holds the output open has ended, too")
}

func TestARunThatIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	require.ErrorIs(t, run(ctx, options{command: []string{"sleep", "600"}}, &strings.Builder{}), why)
}

// TestTimeoutIsThatOfGoTest, for each package.
func TestTimeoutIsThatOfGoTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"a_test.go": `package m
import ("testing"; "time")
func TestStays(t *testing.T) { time.Sleep(time.Hour) }`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var out strings.Builder
	const timeout = 500 * time.Millisecond
	require.Error(t, run(t.Context(), options{timeout: timeout, command: []string{"go", "-C", dir, "test", "-count=1", "-json", "./..."}}, &out))
	require.Contains(t, out.String(), fmt.Sprintf("test timed out after %v", pace.Scale(timeout)))
}

func TestACommandThatCannotRun(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), options{}, &strings.Builder{}), "no command")
	require.ErrorIs(t, run(t.Context(), options{command: []string{"/no/such/command"}}, &strings.Builder{}), os.ErrNotExist)
	require.ErrorIs(t, run(t.Context(), options{keep: "/no/such/folder/file", command: []string{"true"}}, &strings.Builder{}), os.ErrNotExist)
}

func TestEventsAreKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kept")
	text := "a tool\n" + events(ended("pass", "TestA", 1))
	require.NoError(t, run(t.Context(), options{keep: file, command: []string{"printf", "%s", text}}, &strings.Builder{}))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// TestItTellsWhatGoTestTells runs both on a module with tests of each outcome.
func TestItTellsWhatGoTestTells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"good/a_test.go": `package good
import "testing"
func TestGood(t *testing.T) { t.Log("not told") }`,
		"none/a.go":   "package none\n",
		"broken/a.go": "package broken\nfunc f() int { return undefined }\n", "broken/a_test.go": "package broken\n",
		"bad/a_test.go": `package bad
import ("fmt"; "testing")
func TestGood(t *testing.T) { t.Log("not told") }
func TestBad(t *testing.T) {
	t.Run("sub", func(t *testing.T) { fmt.Println("printed"); t.Error("why") })
	t.Error("and more\nin lines")
}`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	plain := exec.CommandContext(t.Context(), "go", "-C", dir, "test", "-count=1", "./...")
	expected, err := plain.CombinedOutput()
	require.Error(t, err)
	var out strings.Builder
	require.ErrorContains(t, run(t.Context(), options{command: []string{"go", "-C", dir, "test", "-count=1", "-json", "./..."}}, &out), "failed: m/bad TestBad/sub")
	got, _, _ := strings.Cut(out.String(), "\nslowest")
	for _, line := range strings.Split(string(expected), "\n") {
		require.Contains(t, withoutTime(got), withoutTime(strings.TrimSpace(line))) // subtests are not indented
	}
	require.NotContains(t, got, "not told")
}

var timed = regexp.MustCompile(`\d+\.\d+s`)

func withoutTime(text string) string { return timed.ReplaceAllString(text, "") }

func TestSumPrintsWhatCameOfThePartsAndHowToRepeatWhatFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	attr := func(key string) gotest.Event {
		return gotest.Event{Action: "attr", Package: "p", Test: "TestA", Key: key, Value: "1"}
	}
	part := func(name, text string) error {
		input := filepath.Join(t.TempDir(), "events")
		require.NoError(t, os.WriteFile(input, []byte(text), 0o600))
		return run(t.Context(), options{part: name, results: dir,
			command: []string{"sh", "-c", "cat " + input, "-json", "./..."}}, &strings.Builder{})
	}
	require.NoError(t, part("good", events(started("TestA"), attr("rounds"), attr("repeated"), ended("pass", "TestA", 1), ended("skip", "TestB", 0), ended("pass", "", 1))))
	var out strings.Builder
	require.NoError(t, sum(t.Context(), options{results: dir, command: []string{"good"}}, &out))
	require.Contains(t, out.String(), "repeated rounds 1 of 2")
	require.True(t, strings.HasSuffix(out.String(), "\n1 passed, 0 failed, 1 skipped\n"), out.String())

	require.Error(t, part("bad", events(started("TestC"), started("TestC/it's_$5"), ended("fail", "TestC/it's_$5", 0), ended("fail", "TestC", 0), started("TestD"), ended("fail", "", 1))))
	out.Reset()
	err := sum(t.Context(), options{results: dir, command: []string{"good", "bad", "none"}}, &out)
	require.ErrorContains(t, err, "bad failed\nnone did not run")
	require.Contains(t, out.String(), "none: did not run")
	require.Contains(t, out.String(), `-run '^TestC$/^it'\''s_\$5$' p`)
	require.Contains(t, out.String(), `-run '^TestD$' p`)
	require.True(t, strings.HasSuffix(out.String(), "\n1 passed, 2 failed, 1 skipped\n"), out.String())
}
