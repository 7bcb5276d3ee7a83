package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type rowKey struct{ object, operation string }

// result is what became of a test, and what it says of itself.
type result struct {
	status   status
	footnote string
}

// cell has a result for each variant of one row and direction; a test without variants is the variant "".
type cell map[string]result

type row map[string]cell // by direction

type rowSet map[rowKey]row

// add keeps the worst status where two packages have a test of the same name.
func (rows rowSet) add(name testName, r result) {
	key := rowKey{name.object, name.operation}
	if rows[key] == nil {
		rows[key] = row{goJava: {}, javaGo: {}}
	}
	for _, direction := range name.directions {
		c := rows[key][direction]
		before := c[name.variant]
		c[name.variant] = result{max(before.status, r.status), cmp.Or(before.footnote, r.footnote)}
	}
}

// rows are made of the leaves, since a parent that passed says nothing by itself. A parent that failed
// does: what it did outside its subtests went wrong.
func (rep *report) rows() rowSet {
	rows := make(rowSet)
	for key, s := range rep.tests {
		name, ok := parseName(key.Name)
		if !ok || s < cutShort && rep.isParent(key) {
			continue
		}
		rows.add(name, result{s, rep.footnotes[key]})
	}
	return rows
}

func (rep *report) table() string {
	rows := rep.rows()
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b rowKey) int {
		return cmp.Or(strings.Compare(a.object, b.object), strings.Compare(a.operation, b.operation))
	})
	var out strings.Builder
	var notes footnotes
	out.WriteString("| Object | Operation | Go → Java | Java → Go |\n|---|---|---|---|\n")
	for _, key := range keys {
		r := rows[key]
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", shown(key.object), shown(key.operation),
			r[goJava].show(&notes), r[javaGo].show(&notes))
	}
	return out.String() + notes.String()
}

// show lists the variants behind each symbol, the bad news first.
func (c cell) show(notes *footnotes) string {
	var groups []string
	for _, group := range []struct {
		symbol string
		has    func(status) bool
	}{
		{"❌", func(s status) bool { return s >= cutShort }},
		{"✅", func(s status) bool { return s == passed }},
		{"–", func(s status) bool { return s == skipped }},
	} {
		if names := c.variants(group.has, notes); len(names) > 0 {
			groups = append(groups, strings.TrimSpace(group.symbol+" "+strings.Join(names, ", ")))
		}
	}
	return cmp.Or(strings.Join(groups, " "), "–")
}

// variants are as they are shown. That of a test without any is an empty text, if it is alone.
func (c cell) variants(has func(status) bool, notes *footnotes) (names []string) {
	for _, variant := range slices.Sorted(maps.Keys(c)) {
		if r := c[variant]; has(r.status) {
			names = append(names, shown(variant)+notes.mark(r.footnote))
		}
	}
	if len(names) > 1 && names[0] == "" {
		return names[1:]
	}
	return names
}

// shown returns a part of a name as a reader sees it: go test writes a space as an underscore.
func shown(part string) string {
	return strings.NewReplacer("_", " ", "|", `\|`).Replace(part)
}
