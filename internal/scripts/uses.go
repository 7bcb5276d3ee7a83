package scripts

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	called  = regexp.MustCompile(`\b(?:redis\.)?p?call\(\s*'([A-Za-z.]+)'(?:\s*,\s*'([A-Za-z]+)')?`)
	variant = regexp.MustCompile(`(?:redis\.p?|\b)call\(\s*[^'\s]`)
	runs    = regexp.MustCompile(`(?m)^-- Runs\s+(.*)$`)
)

// Publishes is the command of a script that its caller chooses for announcements: PUBLISH or SPUBLISH.
const Publishes = "publish*"

// containers are commands whose first word chooses one of several.
var containers = []string{"xgroup", "xinfo", "pubsub", "cluster", "client", "script", "memory", "object"}

// CommandsIn returns the commands that the text of a script runs, in lower case: what it calls by name, what its
// lines of the form
//
//	-- Runs     rpush lpush
//
// say of calls whose command is in a variable, and [Publishes] for such calls without a line. A subcommand is
// "xgroup create".
func CommandsIn(body string) (names []string) {
	for _, m := range called.FindAllStringSubmatch(body, -1) {
		name, second := strings.ToLower(m[1]), strings.ToLower(m[2])
		if slices.Contains(containers, name) && second != "" {
			name += " " + second
		}
		names = append(names, name)
	}
	declared := runs.FindAllStringSubmatch(body, -1)
	for _, m := range declared {
		names = append(names, strings.Fields(strings.ToLower(m[1]))...)
	}
	if len(declared) == 0 && variant.MatchString(body) {
		names = append(names, Publishes)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CommandsOf returns what the scripts in the files of fsys that match one of the patterns run, with the parts that they
// include; without the files that match a pattern after a "!".
func CommandsOf(fsys fs.FS, patterns ...string) (names []string, err error) {
	var files []string
	for _, pattern := range patterns {
		without, not := strings.CutPrefix(pattern, "!")
		some, err := fs.Glob(fsys, without)
		if err == nil && len(some) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if not {
			files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(some, file) })
		} else {
			files = append(files, some...)
		}
	}
	for _, file := range files {
		all, err := piecesOf(fsys, file)
		if err != nil {
			return nil, err
		}
		for _, body := range all {
			names = append(names, CommandsIn(body)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// piecesOf returns a script and the parts that it includes, each by itself: what one declares does not hold for another.
func piecesOf(fsys fs.FS, file string) ([]string, error) {
	header, code, err := halves(fsys, file)
	if err != nil || IsPart(header) {
		return nil, err // a part counts with the scripts that include it
	}
	r := reader{fsys: fsys, dir: path.Dir(file)}
	if err := r.takeAll(header, []string{path.Base(file)}); err != nil {
		return nil, err
	}
	return append(r.parts, header+code), nil
}
