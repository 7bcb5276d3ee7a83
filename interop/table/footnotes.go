package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// footnotes are what tests say of themselves, in the order in which a reader meets their marks.
type footnotes []string

var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// mark returns the raised number of a text, the same for the same text; empty for none.
func (f *footnotes) mark(text string) string {
	if text == "" {
		return ""
	}
	at := slices.Index(*f, text)
	if at < 0 {
		at = len(*f)
		*f = append(*f, text)
	}
	return raised.Replace(strconv.Itoa(at + 1))
}

// String returns a paragraph for each.
func (f footnotes) String() string {
	var out strings.Builder
	for i, text := range f {
		fmt.Fprintf(&out, "\n%s %s\n", raised.Replace(strconv.Itoa(i+1)), text)
	}
	return out.String()
}
