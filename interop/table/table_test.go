package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events writes "action test" lines as go test -json does, all of one package.
func events(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		action, test, _ := strings.Cut(line, " ")
		e, err := json.Marshal(map[string]any{"Action": action, "Package": "p", "Test": test, "Time": "2026-01-01T00:00:00Z"})
		if err != nil {
			panic(err)
		}
		out.Write(append(e, '\n'))
	}
	return out.String()
}

func tableOf(t *testing.T, input string) string {
	t.Helper()
	rep, err := read(strings.NewReader(input))
	require.NoError(t, err)
	return strings.TrimPrefix(rep.table(), "| Object | Operation | Go → Java | Java → Go |\n|---|---|---|---|\n")
}

func TestCells(t *testing.T) {
	t.Parallel()
	const goJava, javaGo = "TestInterop/lock/mutual_exclusion/go-java", "TestInterop/lock/mutual_exclusion/java-go"
	for name, c := range map[string]struct {
		events []string
		row    string
	}{
		"only what ran is green":       {[]string{"run " + goJava, "pass " + goJava}, "✅ | –"},
		"both counts twice":            {[]string{"pass TestInterop/lock/mutual_exclusion/both"}, "✅ | ✅"},
		"a failure is red":             {[]string{"fail " + javaGo}, "– | ❌"},
		"a skip is not green":          {[]string{"run " + goJava, "skip " + goJava}, "– | –"},
		"no end is red":                {[]string{"run " + goJava}, "❌ | –"},
		"variants are listed":          {[]string{"pass " + goJava + "/single", "pass " + goJava + "/cluster", "pass " + goJava}, "✅ cluster, single | –"},
		"a skipped variant shows":      {[]string{"pass " + goJava + "/single", "skip " + goJava + "/cluster", "pass " + goJava}, "✅ single – cluster | –"},
		"a failed variant comes first": {[]string{"pass " + goJava + "/single", "fail " + goJava + "/redisson-3.52.0"}, "❌ redisson-3.52.0 ✅ single | –"},
		"a parent that fails alone":    {[]string{"pass " + goJava + "/single", "fail " + goJava}, "❌ ✅ single | –"},
		"a deeper variant is one":      {[]string{"pass " + goJava + "/cluster/a_b"}, "✅ cluster a b | –"},
		"one failure of several runs":  {[]string{"run " + goJava, "fail " + goJava, "run " + goJava, "pass " + goJava}, "❌ | –"},
		"the second run after a pass":  {[]string{"run " + goJava, "pass " + goJava, "run " + goJava, "fail " + goJava}, "❌ | –"},
		"another function, same row":   {[]string{"pass TestInteropMore/lock/mutual_exclusion/java-go"}, "– | ✅"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "| lock | mutual exclusion | "+c.row+" |\n", tableOf(t, events(c.events...)))
		})
	}
}

func TestRowsAreSortedAndOthersLeftOut(t *testing.T) {
	t.Parallel()
	got := tableOf(t, "building...\n"+events(
		"pass TestInterop/semaphore/acquire/both",
		"pass TestInterop/lock/wake_up/both",
		"pass TestInterop/lock/exclusion/both",
		"pass TestElse/lock/other/both",
		"pass TestInterop/lock/exclusion/sideways",
		"pass TestInterop/lock/exclusion"))
	require.Equal(t, "| lock | exclusion | ✅ | ✅ |\n| lock | wake up | ✅ | ✅ |\n| semaphore | acquire | ✅ | ✅ |\n", got)
}

func TestTwoPackagesShareACell(t *testing.T) {
	t.Parallel()
	name := "TestInterop/lock/exclusion/both"
	require.Equal(t, "| lock | exclusion | ❌ | ❌ |\n",
		tableOf(t, events("fail "+name)+strings.ReplaceAll(events("pass "+name), `"p"`, `"q"`)))
}

func TestProblem(t *testing.T) {
	t.Parallel()
	const good = "TestInterop/lock/exclusion/both"
	for name, c := range map[string]struct {
		events []string
		says   string
	}{
		"all is well":             {[]string{"pass " + good, "pass TestInterop/lock/exclusion", "pass TestInterop", "pass TestElse", "pass"}, ""},
		"a test failed":           {[]string{"fail " + good}, "failed: p " + good},
		"a test outside it":       {[]string{"pass " + good, "fail TestElse"}, "failed: p TestElse"},
		"a test without an end":   {[]string{"run " + good}, "failed: p " + good},
		"a package did not build": {[]string{"pass " + good, "fail"}, "failed: p"},
		"a name that does not fit": {[]string{"pass " + good, "pass TestInterop/lock/exclusion/sideways"},
			"not named for the table: p TestInterop/lock/exclusion/sideways"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rep, err := read(strings.NewReader(events(c.events...)))
			require.NoError(t, err)
			if c.says == "" {
				require.NoError(t, rep.problem())
			} else {
				require.EqualError(t, rep.problem(), c.says)
			}
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readme, results := filepath.Join(dir, "README.md"), filepath.Join(dir, "results.json")
	page := "# Top\n" + beginMark + "\nold\n" + endMark + "\nend\n"
	require.NoError(t, os.WriteFile(readme, []byte(page), 0o644))
	require.NoError(t, os.WriteFile(results, []byte(events("pass TestInterop/lock/exclusion/both")), 0o644))

	for range 2 { // the second time changes nothing
		require.NoError(t, run(results, readme, nil, nil))
		got, err := os.ReadFile(readme)
		require.NoError(t, err)
		require.Equal(t, "# Top\n"+beginMark+"\n| Object | Operation | Go → Java | Java → Go |\n|---|---|---|---|\n"+
			"| lock | exclusion | ✅ | ✅ |\n"+endMark+"\nend\n", string(got))
	}

	var out strings.Builder
	require.ErrorContains(t, run("", "", strings.NewReader(events("fail TestInterop/lock/exclusion/both")), &out), "failed")
	require.Contains(t, out.String(), "❌", "the table is written all the same")
	require.ErrorContains(t, run("", "", strings.NewReader("no events\n"), &out), "no test named")
	require.NoError(t, os.WriteFile(readme, []byte(beginMark), 0o644))
	require.ErrorContains(t, run(results, readme, nil, nil), "README.md: no lines")
}
