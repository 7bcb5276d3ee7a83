package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	exclusion = "TestInterop/lock/exclusion/both"
	head      = "| Object | Operation | Go → Java | Java → Go |\n|---|---|---|---|\n"
	beginMark = "<!-- interop:begin -->"
	endMark   = "<!-- interop:end -->"
	proven    = head + "| lock | exclusion | ✅ | ✅ |\n"
)

// files are a page and results of a run, in a folder of the test's own.
func files(t *testing.T, table, results string) options {
	t.Helper()
	dir := t.TempDir()
	page := "# Top\n" + beginMark + "\n" + table + endMark + "\nend\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "interop.md"), []byte(page), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "results.json"), []byte(results), 0o644))
	return options{results: filepath.Join(dir, "results.json"), write: filepath.Join(dir, "interop.md")}
}

// checking is the same for a run that looks instead of writing.
func checking(t *testing.T, table, results string) options {
	t.Helper()
	o := files(t, table, results)
	o.write, o.check = "", o.write
	return o
}

func content(t *testing.T, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(got)
}

func TestThePageIsWritten(t *testing.T) {
	t.Parallel()
	o := files(t, "old\n", events("pass "+exclusion))
	for range 2 { // the second time changes nothing
		require.NoError(t, run(o, nil, nil))
		require.Equal(t, "# Top\n"+beginMark+"\n"+proven+endMark+"\nend\n", content(t, o.write))
	}
}

func TestARunWithAProblemLeavesThePageAlone(t *testing.T) {
	t.Parallel()
	o := files(t, "old\n", events("fail "+exclusion))
	require.ErrorContains(t, run(o, nil, nil), "failed: p "+exclusion)
	require.Contains(t, content(t, o.write), "old")
}

func TestTheTableIsPrintedAllTheSame(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.ErrorContains(t, run(options{}, strings.NewReader(events("fail "+exclusion)), &out), "failed")
	require.Contains(t, out.String(), "❌")
}

func TestAPageThatIsTrue(t *testing.T) {
	t.Parallel()
	require.NoError(t, run(checking(t, proven, events("pass "+exclusion)), nil, nil))
}

func TestAPageThatIsNot(t *testing.T) {
	t.Parallel()
	const names, waking = "TestInterop/lock/names/both", "TestInterop/lock/waking/go-java"
	for name, c := range map[string]struct {
		stands string
		events []string
		says   string
	}{
		"a test is missing": {proven + "| lock | names | ✅ | ✅ |\n", []string{"pass " + exclusion},
			"\n- | lock | names | ✅ | ✅ |"},
		"a test is new": {proven, []string{"pass " + exclusion, "pass " + names},
			"\n+ | lock | names | ✅ | ✅ |"},
		"rows change": {head + "| lock | exclusion | ✅ a | ✅ a |\n| lock | waking | ✅ | ✅ |\n", []string{"pass " + exclusion, "pass " + waking},
			"\n- | lock | exclusion | ✅ a | ✅ a |\n+ | lock | exclusion | ✅ | ✅ |\n- | lock | waking | ✅ | ✅ |\n+ | lock | waking | ✅ | – |"},
		"rows change places": {head + "| lock | names | ✅ | ✅ |\n| lock | exclusion | ✅ | ✅ |\n", []string{"pass " + exclusion, "pass " + names},
			"\nthe same lines in another order"},
		"something was added by hand": {proven + "\nAnd more.\n", []string{"pass " + exclusion}, "\n- And more."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := checking(t, c.stands, events(c.events...))
			before := content(t, o.check)
			require.EqualError(t, run(o, nil, nil), o.check+
				" does not say what the tests have proven (- as it stands there, + as they ran):"+c.says)
			require.Equal(t, before, content(t, o.check))
		})
	}
}

func TestASkippedTestIsNoProof(t *testing.T) {
	t.Parallel()
	for _, stands := range []string{proven, head + "| lock | exclusion | – | – |\n"} { // not even where the page says so
		o := checking(t, stands, events("run "+exclusion, "skip "+exclusion))
		require.EqualError(t, run(o, nil, nil), "skipped: p "+exclusion)
		o.write, o.check = o.check, ""
		require.EqualError(t, run(o, nil, nil), "skipped: p "+exclusion)
		require.Contains(t, content(t, o.write), stands)
	}
}

func TestAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := files(t, "", events("pass "+exclusion))
	require.NoError(t, os.WriteFile(o.write, []byte(beginMark+"\n"), 0o644))
	require.ErrorContains(t, run(o, nil, nil), "interop.md: no lines")
	require.ErrorContains(t, run(options{results: o.results, check: o.write}, nil, nil), "interop.md: no lines")
	require.ErrorIs(t, run(options{results: o.results, check: o.write + "x"}, nil, nil), os.ErrNotExist)
}

func TestResultsWithoutTests(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(options{}, strings.NewReader("no events\n"), nil), "no test named")
	require.ErrorContains(t, run(options{}, strings.NewReader(events("start", "fail")), nil), "failed: p")
}
