package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/bench/internal/figures"
	"github.com/rueidisson/rueidisson/internal/page"
)

// summary is the part of docs/speed.md that comes first. The others have the names of the headings.
const summary = "summary"

// keep writes results into speed.json of a folder, next to those of the other rows, and makes the parts of speed.md anew.
func keep(dir string, results map[string]figures.Result) error {
	file := filepath.Join(dir, "speed.json")
	all, err := figures.Read(file)
	if err != nil {
		return err
	}
	for name, r := range results {
		all[name] = r
	}
	var names []string
	for _, r := range allRows() {
		names = append(names, r.name)
	}
	if err := figures.Write(file, names, all); err != nil {
		return err
	}
	for name, text := range parts(all) {
		if err := page.Write(filepath.Join(dir, "speed.md"), name, text); err != nil {
			return err
		}
	}
	return nil
}

// parts returns the parts of the page.
func parts(all map[string]figures.Result) map[string]string {
	of := map[string]string{summary: summed(all)}
	for _, h := range headings() {
		of[h.name] = markdown(cells(h.rows, all))
	}
	return of
}

// summed counts the verdicts, and lists the rows whose goal is open or missed.
func summed(all map[string]figures.Result) string {
	counts := map[string]int{}
	table := [][]string{{"row", "ratio", "middle half", "goal", "verdict"}}
	for _, h := range headings() {
		link := "#" + strings.ReplaceAll(strings.ToLower(h.name), " ", "-")
		for _, r := range h.rows {
			got, is := all[r.name]
			verdict := r.goal.verdict(got)
			if !is {
				verdict = "not measured"
			}
			counts[verdict]++
			if verdict == missed || verdict == open {
				line := line(r, got)
				table = append(table, []string{fmt.Sprintf("[%s](%s)", r.name, link), cmp.Or(line[4], line[2]+" "+r.unit), line[5], r.goal.String(), verdict})
			}
		}
	}
	return fmt.Sprintf("%d goals are met, %d are open and %d are missed. %d rows have no goal, and %d are not measured.\n\n",
		counts[met], counts[open], counts[missed], counts[""], counts["not measured"]) + markdown(table)
}

// cells returns the table of some rows, with its heads. Rows without a result are left out.
func cells(rows []row, all map[string]figures.Result) [][]string {
	table := [][]string{{"what", "unit", "ours", "base", "ratio", "middle half", "goal", "verdict", "lost updates", "measured", "note"}}
	for _, r := range rows {
		if got, is := all[r.name]; is {
			table = append(table, line(r, got))
		}
	}
	return table
}

func line(r row, got figures.Result) []string {
	base, ratio, half := "", "", ""
	if got.Base != 0 {
		base, ratio, half = fmt.Sprintf("%.4g", got.Base), fmt.Sprintf("%.3g", got.Ratio), fmt.Sprintf("%.3g..%.3g", got.Low, got.High)
	}
	lost := ""
	if got.Lost != nil {
		lost = fmt.Sprintf("%d; %d", got.Lost[0], got.Lost[1])
	}
	measured := got.Day
	if got.Slices > 0 {
		measured += fmt.Sprintf(", %d slices", got.Slices)
	}
	return []string{r.name, r.unit, fmt.Sprintf("%.4g", got.Ours), base, ratio, half, r.goal.String(), r.goal.verdict(got), lost, measured, joined(r.goal.why, got.Note)}
}

// joined returns the notes that there are.
func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

// aligned is a table for a terminal.
func aligned(table [][]string) string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range table {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	w.Flush()
	return out.String()
}

// markdown is a table for a page. Its first line is the head.
func markdown(table [][]string) string {
	var out strings.Builder
	for i, cells := range table {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintln(&out, strings.Repeat("|---", len(cells))+"|")
		}
	}
	return out.String()
}

// TestThePageIsMadeOfTheFigures: docs/speed.md has what docs/speed.json has, and both have each row of ours and no other.
func TestThePageIsMadeOfTheFigures(t *testing.T) {
	t.Parallel()
	all, err := figures.Read("../docs/speed.json")
	require.NoError(t, err)
	for name, text := range parts(all) {
		if err := page.Check("../docs/speed.md", name, text, "what docs/speed.json does: run make ratios"); err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, r := range allRows() {
		require.False(t, seen[r.name], "two rows are %q", r.name)
		seen[r.name] = true
		if r.optional() && all[r.name].Row == "" {
			continue
		}
		_, is := all[r.name]
		require.True(t, is, "run: make ratios RATIOS=-only=%q", r.name)
		require.Equal(t, r.unit, all[r.name].Unit, "%s was measured in another unit", r.name)
	}
	for name := range all {
		require.True(t, seen[name], "no row is %q: run make ratios", name)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	with := func(ratio, low, high float64) figures.Result {
		return figures.Result{Ours: 1, Base: 1, Ratio: ratio, Low: low, High: high}
	}
	for name, c := range map[string]struct {
		goal goal
		got  figures.Result
		want string
	}{
		"no goal":                        {goal{}, with(9, 8, 10), ""},
		"below a bound":                  {goal{atMost: 1.1}, with(1, 0.9, 1.05), met},
		"at a bound":                     {goal{atMost: 1.1}, with(1.1, 1, 1.1), met},
		"above a bound":                  {goal{atMost: 1.1}, with(1.3, 1.2, 1.4), missed},
		"the middle half has the bound":  {goal{atMost: 1.1}, with(1.05, 0.9, 1.2), open},
		"the middle half, on both sides": {goal{atMost: 1.1}, with(1.15, 1.05, 1.2), open},
		"enough":                         {goal{atLeast: 2}, with(3, 2.5, 4), met},
		"too little":                     {goal{atLeast: 2}, with(1.5, 1.4, 1.9), missed},
		"perhaps enough":                 {goal{atLeast: 2}, with(2.1, 1.9, 2.5), open},
		"without a base":                 {goal{atMost: 10}, figures.Result{Ours: 9}, met},
		"without a base, too much":       {goal{atMost: 10}, figures.Result{Ours: 11}, missed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.goal.verdict(c.got))
		})
	}
}

// TestKeptResultsAreOnThePage: what is measured again replaces what there was of its row alone.
func TestKeptResultsAreOnThePage(t *testing.T) {
	t.Parallel()
	dir, all := t.TempDir(), allRows()
	text := ""
	for _, name := range append([]string{summary}, headingNames()...) {
		text += fmt.Sprintf("# %s\n<!-- %s:begin -->\n<!-- %s:end -->\n", name, name, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "speed.md"), []byte(text), 0o644))
	first, last := all[0], all[len(all)-1]
	require.NoError(t, keep(dir, map[string]figures.Result{first.name: {Row: first.name, Ours: 1}, last.name: {Row: last.name, Ours: 2}}))
	require.NoError(t, keep(dir, map[string]figures.Result{first.name: {Row: first.name, Ours: 12345, Base: 1, Ratio: 777, Low: 776, High: 778}}))
	got, err := figures.Read(filepath.Join(dir, "speed.json"))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.EqualValues(t, 2, got[last.name].Ours)
	part, err := page.Read(filepath.Join(dir, "speed.md"), headings()[0].name)
	require.NoError(t, err)
	require.Contains(t, part, "| 777 | 776..778 |")
	sum, err := page.Read(filepath.Join(dir, "speed.md"), summary)
	require.NoError(t, err)
	require.Contains(t, sum, fmt.Sprintf("%d are not measured", len(all)-2))
	require.Contains(t, sum, "["+first.name+"](#locks)")
}

func headingNames() (names []string) {
	for _, h := range headings() {
		names = append(names, h.name)
	}
	return names
}

// TestRoundedKeepsDigits: figures of the file are no longer than those of the page.
func TestRoundedKeepsDigits(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{1.235, 123500, 0.0001234}, []float64{rounded(1.23456, 4), rounded(123456, 4), rounded(0.00012341, 4)})
}
