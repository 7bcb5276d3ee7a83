package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/rueidisson/rueidisson/internal/page"
)

// part is the table's name in docs/speed.md.
const part = "ratios"

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

// TestThePageHasARowForEachOfOurs sees to it that what was measured is what is
// there. The figures are those of the last make ratios.
func TestThePageHasARowForEachOfOurs(t *testing.T) {
	text, err := page.Read("../docs/speed.md", part)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 2+len(allRows()) {
		t.Fatalf("%d rows on the page, and %d of ours: run make ratios", len(lines)-2, len(allRows()))
	}
	for i, r := range allRows() {
		cells := strings.Split(lines[2+i], " | ")
		if len(cells) != len(columns) || cells[0] != "| "+r.name || cells[6] != r.goal.String() {
			t.Errorf("%s is not row %q with the goal %q: run make ratios", lines[2+i], r.name, r.goal)
		}
	}
}
