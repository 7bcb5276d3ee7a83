package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	beginMark = "<!-- interop:begin -->"
	endMark   = "<!-- interop:end -->"
)

// page is a file around the table.
type page struct{ before, table, after string }

func readPage(path string) (page, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return page{}, err
	}
	before, rest, found := strings.Cut(string(content), beginMark+"\n")
	table, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return page{}, fmt.Errorf("%s: no lines %s and %s", path, beginMark, endMark)
	}
	return page{before, table, after}, nil
}

func writePage(path, table string) error {
	p, err := readPage(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(p.before+beginMark+"\n"+table+endMark+p.after), 0o644)
}

// checkPage is the error that says where the page and the run differ.
func checkPage(path, table string) error {
	p, err := readPage(path)
	if err != nil || p.table == table {
		return err
	}
	return fmt.Errorf("%s does not say what the tests have proven (- as it stands there, + as they ran):\n%s",
		path, cmp.Or(difference(p.table, table), "the same lines in another order"))
}

// difference lists the lines that only one side has. Sorted, those of one row are neighbours.
func difference(stands, ran string) string {
	before, after := strings.Split(stands, "\n"), strings.Split(ran, "\n")
	var lines []string
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(rowOf(a), rowOf(b)) })
	return strings.Join(lines, "\n")
}

// rowOf is object and operation of a line of a difference, or what else it begins with.
func rowOf(line string) string {
	cells := strings.SplitN(line[len("- "):], "|", 4)
	return strings.Join(cells[:min(len(cells), 3)], "|")
}
