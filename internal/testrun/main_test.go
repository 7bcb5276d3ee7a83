package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events returns lines as go test -json prints them.
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

func ended(action, test string) gotest.Event {
	return gotest.Event{Action: action, Package: "p", Test: test}
}

func attr(key, value string) gotest.Event {
	return gotest.Event{Action: "attr", Package: "p", Test: "TestA", Key: key, Value: value}
}

// told reads events.
func told(t *testing.T, text string, command ...string) (string, gotest.Results, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "part.events")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	r, err := gotest.ResultsOf(command, file, &out)
	return out.String(), r, err
}

// TestWhatGotestsumLeavesOutIsPrinted: it knows of a panic or a race only for the test beside which it was printed.
func TestWhatGotestsumLeavesOutIsPrinted(t *testing.T) {
	t.Parallel()
	beside := events(started("TestA"), said("TestA", "=== RUN   TestA\n"), said("TestA", "    a_test.go:1: a log\n"), said("TestA", "        in lines\n"),
		said("TestA", "WARNING: DATA RACE\n"), said("TestA", "      /p/a.go:4\n"), said("TestA", "--- PASS: TestA (1.00s)\n"), ended("pass", "TestA"))
	const printed = "\nprinted beside p TestA, which passed:\nWARNING: DATA RACE\n      /p/a.go:4\n"
	for name, c := range map[string]struct{ input, output string }{
		"a package that passed":     {beside + events(ended("pass", "")), ""},
		"a package that failed":     {beside + events(ended("fail", "")), printed},
		"a package that was cut":    {beside, printed},
		"of a test that has failed": {events(started("TestB"), said("TestB", "printed\n"), ended("fail", "TestB"), ended("fail", "")), ""},
		"full counts": {events(started("TestA"), attr("soak", "100 instead of 1"), attr("footnote", "x"), ended("pass", "TestA"), ended("pass", "")),
			"full count of p TestA: 100 instead of 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, _ := told(t, c.input)
			require.Equal(t, c.output, got)
		})
	}
}

func TestWhatFails(t *testing.T) {
	t.Parallel()
	good := events(gotest.Event{Action: "start", Package: "p"}, started("TestA"), ended("pass", "TestA"))
	for name, c := range map[string]struct {
		input   string
		failed  []string
		problem string
	}{
		"nothing":                     {good + events(ended("pass", "")), nil, ""},
		"a test":                      {good + events(started("TestB"), ended("fail", "TestB"), ended("fail", "")), []string{"-run '^TestB$' p"}, "1 tests failed, 0 were skipped, and 1 have passed"},
		"a subtest":                   {good + events(ended("fail", "TestB/it's_$5"), ended("fail", "TestB"), ended("fail", "")), []string{`-run '^TestB$/^it'\''s_\$5$' p`}, "1 tests failed, 0 were skipped, and 1 have passed"},
		"two that begin alike":        {good + events(ended("fail", "TestB"), ended("fail", "TestBC")), []string{"-run '^TestB$' p", "-run '^TestBC$' p"}, "2 tests failed, 0 were skipped, and 1 have passed"},
		"a package without its tests": {good + events(ended("fail", "")), []string{"p"}, "1 tests failed, 0 were skipped, and 1 have passed"},
		"a test that does not end":    {good + events(started("TestB"), ended("pass", "")), []string{"-run '^TestB$' p"}, "1 tests failed, 0 were skipped, and 1 have passed"},
		"a package that does not end": {good, []string{"p"}, "1 tests failed, 0 were skipped, and 1 have passed"},
		"no test at all":              {"no events\n", nil, "0 tests failed, 0 were skipped, and 0 have passed"},
		"one that was skipped":        {good + events(started("TestB"), ended("skip", "TestB"), ended("pass", "")), nil, "0 tests failed, 1 were skipped, and 1 have passed"},
		"a package without tests":     {good + events(ended("pass", ""), gotest.Event{Action: "skip", Package: "q"}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, r, err := told(t, c.input, "go", "-C", "bench", "test", "-json", "-race", "./p", "./...")
			for i := range c.failed {
				c.failed[i] = "RUEIDISSON_REQUIRE_SERVERS=1 go -C bench test -race " + c.failed[i]
			}
			require.Equal(t, c.failed, r.Failed)
			if c.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.problem)
			}
		})
	}
}

// part runs a shell as gotestsum is run, which has the file of its events as $1.
func part(t *testing.T, ctx context.Context, within, timeout time.Duration, shell string) (result, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "part")
	return run(ctx, within, timeout, file, []string{"sh", "-c", shell, "--", file + ".events"})
}

var passes = "cat >\"$1\" <<EOF\n" + events(started("TestA"), ended("pass", "TestA"), started("TestB")) + "EOF\n"

func TestARunThatTakesTooLongIsEndedWithWhatItStarted(t *testing.T) {
	t.Parallel()
	within := pace.Scale(time.Second)
	file := filepath.Join(t.TempDir(), "pid")
	r, err := part(t, t.Context(), within, time.Minute, passes+"sleep 600 & echo $! >"+file+"; trap 'wait' INT; wait")
	require.ErrorContains(t, err, fmt.Sprintf("ended after %v, which is how long it may take", within))
	require.Equal(t, 1, r.Passed)
	require.Len(t, r.Failed, 1)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // it may be there as a zombie of nobody for a moment
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond)
}

func TestARunThatIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	_, err := part(t, ctx, time.Hour, time.Minute, "sleep 600")
	require.ErrorIs(t, err, why)
}

// TestTheTimeoutAndThePackagesAtOnceAreThoseOfGoTest, and what the caller has in GOFLAGS counts before.
func TestTheTimeoutAndThePackagesAtOnceAreThoseOfGoTest(t *testing.T) {
	t.Parallel()
	_, err := part(t, t.Context(), time.Hour, 90*time.Second,
		`case "$GOFLAGS" in "-p="*" -timeout=1m30s "*) exit 3;; esac; echo "GOFLAGS is $GOFLAGS" >&2`)
	require.ErrorContains(t, err, "exit status 3")
}

func TestAFailureOfTheCommandIsOneOfThePart(t *testing.T) {
	t.Parallel()
	_, err := part(t, t.Context(), time.Hour, time.Minute, passes+"exit 1")
	require.ErrorContains(t, err, "exit status 1")
	file := filepath.Join(t.TempDir(), "part")
	_, err = run(t.Context(), time.Hour, time.Minute, file, []string{"/no/such/command", "--"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestItTellsWhatGoTestTells runs it on a module with tests of each outcome.
func TestItTellsWhatGoTestTells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module m\n\ngo 1.26\n",
		"good/a_test.go": "package good\nimport \"testing\"\nfunc TestGood(t *testing.T) {}",
		"none/a.go":      "package none\n",
		"broken/a.go":    "package broken\nfunc f() int { return undefined }\n", "broken/a_test.go": "package broken\n",
		"bad/a_test.go": `package bad
import ("testing"; "time")
func TestGood(t *testing.T) {}
func TestSkips(t *testing.T) { t.Skip() }
func TestPanics(t *testing.T) { t.Parallel(); go panic("of a goroutine"); time.Sleep(time.Hour) }`,
		"hangs/a_test.go": "package hangs\nimport (\"testing\"; \"time\")\nfunc TestHangs(t *testing.T) { time.Sleep(time.Hour) }",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "go", "-C", dir, "test", "-count=1", "-json", "-timeout=2s", "./...")
	text, err := cmd.Output()
	require.Error(t, err)
	_, r, err := told(t, string(text), "go", "test")
	require.ErrorContains(t, err, "1 were skipped")
	all := strings.ReplaceAll(strings.Join(r.Failed, "\n"), "RUEIDISSON_REQUIRE_SERVERS=1 go test ", "")
	require.Equal(t, "-run '^TestHangs$' m/hangs\n-run '^TestPanics$' m/bad\nm/broken", all)
}

func TestTheSummaryNamesTheParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave := func(name string, r result) string {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600))
		return filepath.Join(dir, name)
	}
	_, good, err := told(t, events(started("TestA"), attr("rounds", "1s"), attr("repeated", "1s"), ended("pass", "TestA"), ended("pass", "")))
	require.NoError(t, err)
	var out strings.Builder
	sum(&out, []string{leave("good", result{good, 90 * time.Second, 1.5, ""}),
		leave("bad", result{gotest.Results{Passed: 2, Skipped: 1, Failed: []string{"repeat it"}}, 0, 1, ": why"}), filepath.Join(dir, "none")})
	require.Equal(t, `
summary
     1m30s  good: 1 passed, 0 failed, 0 skipped
        0s  bad: 2 passed, 1 failed, 1 skipped: why
        0s  none: 0 passed, 0 failed, 0 skipped: did not run to its end
     1m30s  pace 1.5, repeated rounds 1 of 2

to repeat what failed:
  repeat it

3 passed, 1 failed, 1 skipped
`, out.String())
}
