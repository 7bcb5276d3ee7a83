package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// isPuzzle matches a comment that makes its reader guess who does what.
var isPuzzle = regexp.MustCompile(`^is (what|who|how|whether)\b`)

// TestCommentsOfFunctionsSayWhatTheyDo lets no comment of a function begin "f is what", and few begin "f is".
func TestCommentsOfFunctionsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	all, is := 0, 0
	eachFunction(t, func(at token.Position, name, comment string) {
		all++
		rest, named := strings.CutPrefix(comment, name+" ")
		if !named {
			return
		}
		if strings.HasPrefix(rest, "is ") || strings.HasPrefix(rest, "are ") {
			is++
		}
		assert.NotRegexp(t, isPuzzle, rest, "%v: %s", at, comment)
	})
	require.Greater(t, all, 4000, "functions with comments")
	require.Less(t, is*20, all, "comments that begin \"f is\": begin with a verb")
}

// eachFunction calls do with the comments of all functions that are no tests.
func eachFunction(t *testing.T, do func(at token.Position, name, comment string)) {
	t.Helper()
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Doc != nil {
				do(files.Position(f.Pos()), f.Name.Name, f.Doc.Text())
			}
		}
		return nil
	}))
}

// banned are phrases that a reader has to read twice, and what to write in their place.
var banned = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\bwhoever\b`):                                                   "the noun: a client, a process, a caller",
	regexp.MustCompile(`(?i)\bwho (waits|asks|has)\b`):                                      "the noun: a waiter, a caller, the holder",
	regexp.MustCompile(`(?i)\basks? nobody\b`):                                              "does no I/O",
	regexp.MustCompile(`(?i)\bof which\b`):                                                  "a sentence of its own",
	regexp.MustCompile(`(?i)\bbut for\b`):                                                   "except",
	regexp.MustCompile(`(?i)\bas of an?\b`):                                                 "as for a, of a",
	regexp.MustCompile(`(?i)\blikewise\b`):                                                  "also, the same way",
	regexp.MustCompile(`\b(is|are) (an?|the error of) \[?([a-z]+\.)?(Err[A-Z]|\w+Error\b)`): "returns ErrX, wraps ErrX",
	regexp.MustCompile(`(?i)\bbeside\b`):                                                    "in addition to, next to, with",
	regexp.MustCompile(`(?i)\bbehind\b`):                                                    "after",
}

// allowed are uses of those phrases that are the field's own, each with its reason.
var allowed = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\b(write|writes|writing|written|wrote)[ -]behind\b`):                                         "the name of the technique",
	regexp.MustCompile(`(?i)\bbehind (a |an |the |its |one )?(reverse )?(proxy|proxies|load balancer|NAT|Sentinels?)\b`): "a position in a network",
	regexp.MustCompile(`"behind"|\bready( %d|,) due( %d|,) behind( %d|,) leased\b`):                                      "a state of a job",
	regexp.MustCompile("`waiter\\.behind`"):                                                                              "the name of a function",
}

// TestTextsUsePlainWords finds banned phrases in the pages, and in the comments, errors and help texts of public packages.
func TestTextsUsePlainWords(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, at, text string) {
		t.Helper()
		text = strings.Join(strings.Fields(text), " ")
		for use := range allowed {
			text = use.ReplaceAllString(text, "…")
		}
		for phrase, instead := range banned {
			if found := phrase.FindStringIndex(text); found != nil {
				around := text[max(found[0]-60, 0):min(found[1]+40, len(text))]
				assert.Fail(t, "banned phrase", "%s: %q in %q: write %s", at, text[found[0]:found[1]], around, instead)
			}
		}
	}
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" {
			continue // it tells of former texts
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			for _, paragraph := range strings.Split(text(t, page), "\n\n") {
				check(t, page, paragraph)
			}
		})
	}
	for dir, files := range publicFiles(t) {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			for _, path := range files {
				set := token.NewFileSet()
				file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
				require.NoError(t, err)
				for _, group := range file.Comments {
					check(t, set.Position(group.Pos()).String(), group.Text())
				}
				ast.Inspect(file, func(n ast.Node) bool {
					if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
						check(t, set.Position(lit.Pos()).String(), lit.Value)
					}
					return true
				})
			}
		})
	}
}

// TestCommentsNameNoCommandsOfTheWire finds "Wire:" in the comments of public packages: docs/redis.md has the commands, by object.
func TestCommentsNameNoCommandsOfTheWire(t *testing.T) {
	t.Parallel()
	for _, files := range publicFiles(t) {
		for _, path := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, group := range file.Comments {
				assert.NotContains(t, group.Text(), "Wire:", "%s: it belongs into docs/redis.md", set.Position(group.Pos()))
			}
		}
	}
}

// mostOfAPackage bounds the lines of doc.go of a public package: it is the contract, and the guide has the rest.
const mostOfAPackage = 120

// TestCommentsOfPackagesStayShort counts the lines of each doc.go, except where links lead.
func TestCommentsOfPackagesStayShort(t *testing.T) {
	t.Parallel()
	for dir, files := range publicFiles(t) {
		for _, path := range files {
			if filepath.Base(path) == "doc.go" {
				links := len(regexp.MustCompile(`(?m)^// \[[\w.]+\]: https://`).FindAllString(text(t, path), -1))
				assert.LessOrEqual(t, strings.Count(text(t, path), "\n")-links, mostOfAPackage, "%s: move what is no promise to docs", dir)
			}
		}
	}
}

// publicFiles returns the Go files of packages that users see, by folder: no tests, and nothing internal.
func publicFiles(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path != "." && strings.HasPrefix(name, "."), name == "internal", name == "testdata", path == "bench", path == "interop", path == "examples":
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			dir := filepath.ToSlash(filepath.Dir(path))
			all[dir] = append(all[dir], path)
		}
		return nil
	}))
	require.Greater(t, len(all), 20)
	return all
}
