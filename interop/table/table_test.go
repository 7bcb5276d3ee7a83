package main

import (
	"encoding/json"
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
		"all is well":               {[]string{"pass " + good, "pass TestInterop/lock/exclusion", "pass TestInterop", "pass TestElse", "pass"}, ""},
		"a test failed":             {[]string{"fail " + good}, "failed: p " + good},
		"a test outside it":         {[]string{"pass " + good, "fail TestElse"}, "failed: p TestElse"},
		"a test without an end":     {[]string{"run " + good}, "failed: p " + good},
		"a package did not build":   {[]string{"pass " + good, "fail"}, "failed: p"},
		"a package without an end":  {[]string{"start", "pass " + good}, "failed: p"},
		"a package without tests":   {[]string{"pass " + good, "start", "skip"}, ""},
		"a skipped test":            {[]string{"run " + good, "skip " + good}, "skipped: p " + good},
		"a skipped world":           {[]string{"pass " + good, "skip TestInteropMore"}, "skipped: p TestInteropMore"},
		"a skipped test outside it": {[]string{"pass " + good, "skip TestElse"}, "skipped: p TestElse"},
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

func TestFootnotes(t *testing.T) {
	t.Parallel()
	attr := func(test, text string) string {
		return strings.Replace(events("attr "+test), `"Action"`, `"Key":"footnote","Value":"`+text+`","Action"`, 1)
	}
	const a, b, c = "TestInterop/lock/a/both/single", "TestInterop/lock/b/java-go", "TestInterop/lock/c/go-java"
	got := tableOf(t, attr(c, "Once.")+attr(b, "Two.")+attr(a, "Once.")+events("pass "+a, "pass "+b, "pass "+c))
	require.Equal(t, "| lock | a | ✅ single¹ | ✅ single¹ |\n| lock | b | – | ✅ ² |\n| lock | c | ✅ ¹ | – |\n"+
		"\n¹ Once.\n\n² Two.\n", got)
	other := strings.ReplaceAll(attr(a, "x"), `"footnote"`, `"else"`)
	require.Equal(t, "| lock | a | ✅ single | ✅ single |\n", tableOf(t, other+events("pass "+a)))
}

func TestTheTenthFootnote(t *testing.T) {
	t.Parallel()
	var notes footnotes
	for i := range 12 {
		notes.mark(string(rune('a' + i)))
	}
	require.Equal(t, "¹⁰", notes.mark("j"))
	require.Contains(t, notes.String(), "\n¹² l\n")
}
