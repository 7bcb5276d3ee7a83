package scripts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// common are the parts that scripts of several packages include.
//
//go:embed parts/*.lua
var common embed.FS

var include = regexp.MustCompile(`^-- Include: (\S+)$`)

// Read returns the text of a script as it is sent. A header line
//
//	-- Include: queue.lua
//
// takes in a part of the same folder, or else one of those that packages share:
// it comes between the header and the code of the script, so that the functions
// which it defines are known there. A part may include others; whatever several
// of them include comes once.
func Read(fsys fs.FS, file string) (string, error) {
	header, code, err := halves(fsys, file)
	if err != nil {
		return "", err
	}
	r := reader{fsys: fsys, dir: path.Dir(file)}
	if err := r.takeAll(header, []string{path.Base(file)}); err != nil {
		return "", err
	}
	if len(r.parts) == 0 {
		return header + code, nil
	}
	// The empty line keeps a part's own comment out of the header.
	return header + "\n" + strings.Join(r.parts, "") + code, nil
}

// IsPart tells a part from a script: it has no header of its own, as nobody
// calls it.
func IsPart(body string) bool {
	header, _ := cut(body)
	for line := range strings.Lines(header) {
		if item.MatchString(line) || replay.MatchString(line) || strings.HasPrefix(line, "-- Returns ") {
			return false
		}
	}
	return true
}

// reader collects the parts of one script, each behind those that it includes.
type reader struct {
	fsys  fs.FS
	dir   string
	parts []string
	taken []string
}

// takeAll takes what a header includes; within are the files that this one is
// included from, itself the last.
func (r *reader) takeAll(header string, within []string) error {
	for _, part := range includes(header) {
		if err := r.take(part, within); err != nil {
			return fmt.Errorf("%s includes %w", within[len(within)-1], err)
		}
	}
	return nil
}

func (r *reader) take(part string, within []string) error {
	switch {
	case slices.Contains(within, part):
		return fmt.Errorf("%s, which includes it", part)
	case slices.Contains(r.taken, part):
		return nil
	case path.Base(part) != part:
		return fmt.Errorf("%s of another folder", part)
	}
	header, code, err := r.halves(part)
	if err != nil {
		return err
	}
	if !IsPart(header) {
		return fmt.Errorf("%s, which is a script of its own", part)
	}
	if err := r.takeAll(header, append(slices.Clone(within), part)); err != nil {
		return err
	}
	r.taken, r.parts = append(r.taken, part), append(r.parts, header+code)
	return nil
}

// halves reads a part of the folder, or else a common one.
func (r *reader) halves(part string) (header, code string, err error) {
	header, code, err = halves(r.fsys, path.Join(r.dir, part))
	if !errors.Is(err, fs.ErrNotExist) {
		return header, code, err
	}
	if header, code, none := halves(common, path.Join("parts", part)); none == nil {
		return header, code, nil
	}
	return "", "", err
}

// includes returns what the header names, in order.
func includes(header string) (parts []string) {
	for line := range strings.Lines(header) {
		if m := include.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			parts = append(parts, m[1])
		}
	}
	return parts
}

func halves(fsys fs.FS, file string) (header, code string, err error) {
	body, err := fs.ReadFile(fsys, file)
	if err != nil {
		return "", "", err
	}
	header, code = cut(string(body))
	return header, code, nil
}

// cut parts the comment at the top of a file from what is below.
func cut(body string) (header, code string) {
	end := 0
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "--") {
			break
		}
		end += len(line)
	}
	return body[:end], body[end:]
}
