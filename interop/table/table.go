package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	beginMark = "<!-- interop:begin -->"
	endMark   = "<!-- interop:end -->"
)

type rowKey struct{ object, operation string }

// cell has a status for each variant of one row and direction; a test without variants is the variant "".
type cell map[string]status

type row map[string]cell // by direction

type rowSet map[rowKey]row

// add keeps the worst status where two packages have a test of the same name.
func (rows rowSet) add(name testName, s status) {
	key := rowKey{name.object, name.operation}
	if rows[key] == nil {
		rows[key] = row{goJava: {}, javaGo: {}}
	}
	for _, direction := range name.directions {
		c := rows[key][direction]
		c[name.variant] = max(c[name.variant], s)
	}
}

// rows are made of the leaves, since a parent that passed says nothing by itself. A parent that failed
// does: what it did outside its subtests went wrong.
func (rep *report) rows() rowSet {
	rows := make(rowSet)
	for key, s := range rep.tests {
		name, ok := parseName(key.name)
		if !ok || s < cutShort && rep.isParent(key) {
			continue
		}
		rows.add(name, s)
	}
	return rows
}

func (rep *report) table() string {
	rows := rep.rows()
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b rowKey) int {
		return cmp.Or(strings.Compare(a.object, b.object), strings.Compare(a.operation, b.operation))
	})
	var out strings.Builder
	out.WriteString("| Object | Operation | Go → Java | Java → Go |\n|---|---|---|---|\n")
	for _, key := range keys {
		r := rows[key]
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", shown(key.object), shown(key.operation), r[goJava], r[javaGo])
	}
	return out.String()
}

// String lists the variants behind each symbol, the bad news first.
func (c cell) String() string {
	var groups []string
	for _, group := range []struct {
		symbol string
		has    func(status) bool
	}{
		{"❌", func(s status) bool { return s >= cutShort }},
		{"✅", func(s status) bool { return s == passed }},
		{"–", func(s status) bool { return s == skipped }},
	} {
		if names, any := c.variants(group.has); any {
			groups = append(groups, strings.TrimSpace(group.symbol+" "+names))
		}
	}
	return cmp.Or(strings.Join(groups, " "), "–")
}

func (c cell) variants(has func(status) bool) (names string, any bool) {
	var all []string
	for variant, s := range c {
		if !has(s) {
			continue
		}
		any = true
		if variant != "" {
			all = append(all, shown(variant))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", "), any
}

// shown is a part of a name as a reader sees it: go test writes a space as an underscore.
func shown(part string) string {
	return strings.NewReplacer("_", " ", "|", `\|`).Replace(part)
}

// replace puts the table between the two marks of a page.
func replace(page, table string) (string, error) {
	before, rest, found := strings.Cut(page, beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return "", errors.New("no lines " + beginMark + " and " + endMark)
	}
	return before + beginMark + "\n" + table + endMark + after, nil
}
