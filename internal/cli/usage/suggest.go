package usage

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// mostMistaken is how many letters of a word may differ from the one that was meant.
const mostMistaken = 2

// otherWords are the words of other tools for a command, by the name of the command.
var otherWords = map[string][]string{
	"add":          {"push", "offer", "put", "enqueue"},
	"force-unlock": {"unlock"},
	"info":         {"show", "status", "count"},
	"listen":       {"subscribe"},
	"ls":           {"list"},
	"publish":      {"send"},
	"put":          {"set"},
	"rm":           {"remove", "delete", "del", "clear"},
	"show":         {"info"},
	"take":         {"pop", "poll"},
}

// SuggestOtherWords has all commands below cmd be suggested for the words of other tools.
func SuggestOtherWords(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		sub.SuggestFor = append(sub.SuggestFor, otherWords[sub.Name()]...)
		SuggestOtherWords(sub)
	}
}

// NoSuchCommand returns an error for a word in the place of a command, with those that may have been meant.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = mostMistaken
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		slices.Sort(meant) // one may be like the word, and be meant by it
		return exit.Usagef("unknown command %q, was it %s?", args[0], strings.Join(slices.Compact(meant), " or "))
	}
	return exit.Usagef("unknown command %q", args[0])
}

// BadFlag explains a flag that does not exist: it may be a number below 0, or mistyped.
func BadFlag(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return err
	}
	text := "-" + none.GetSpecifiedShortnames()
	if _, bad := strconv.ParseFloat(text, 64); bad == nil {
		return exit.Usagef("%s is read as a flag; a number below 0 goes after --", text)
	}
	if meant := flagsLike(cmd, none.GetSpecifiedName()); len(meant) > 0 {
		return exit.Usagef("%w, was it %s?", err, strings.Join(meant, " or "))
	}
	return err
}

// flagsLike returns the flags of a command that a mistyped name may have meant.
func flagsLike(cmd *cobra.Command, name string) (meant []string) {
	if name == "" {
		return nil
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		isStart := len(name) > 1 && strings.HasPrefix(f.Name, name)
		if !f.Hidden && (isStart || distance(f.Name, name) <= min(mostMistaken, len(name)/2)) {
			meant = append(meant, "--"+f.Name)
		}
	})
	return meant
}

// distance returns the Levenshtein distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
