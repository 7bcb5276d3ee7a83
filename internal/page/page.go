// Package page keeps the parts of a Markdown file that commands write: what
// stands between <!-- name:begin --> and <!-- name:end -->.
package page

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// parts is a file around one part of it.
type parts struct{ before, text, after string }

func marks(name string) (begin, end string) {
	return "<!-- " + name + ":begin -->\n", "<!-- " + name + ":end -->"
}

func read(path, name string) (parts, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return parts{}, err
	}
	begin, end := marks(name)
	before, rest, found := strings.Cut(string(content), begin)
	text, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return parts{}, fmt.Errorf("%s: no lines %s and %s", path, strings.TrimSpace(begin), end)
	}
	return parts{before, text, after}, nil
}

// Read returns the part of that name.
func Read(path, name string) (string, error) {
	p, err := read(path, name)
	return p.text, err
}

// Write replaces the part of that name by text, which ends with a line break.
func Write(path, name, text string) error {
	p, err := read(path, name)
	if err != nil {
		return err
	}
	begin, end := marks(name)
	return os.WriteFile(path, []byte(p.before+begin+text+end+p.after), 0o644)
}

// Check returns an error that says where the part of that name and text
// differ, line by line; what says what they are.
func Check(path, name, text, what string) error {
	p, err := read(path, name)
	if err != nil || p.text == text {
		return err
	}
	return fmt.Errorf("%s does not say %s:\n%s", path, what, cmp.Or(Difference(p.text, text), "the same lines in another order"))
}

// Difference lists the lines that only one side has. Sorted, those of one row are neighbours.
func Difference(stands, ran string) string {
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

// rowOf returns the first two cells of a line of a difference, or what else it begins with.
func rowOf(line string) string {
	cells := strings.SplitN(line[len("- "):], "|", 4)
	return strings.Join(cells[:min(len(cells), 3)], "|")
}
