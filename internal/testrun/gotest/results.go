package gotest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Results are what came of the tests of a command. Rounds are those of tests that assert how long something took, see
// Within in package redistest. Failed are the commands that repeat what failed.
type Results struct {
	Passed, Skipped, Rounds, Repeated int
	Failed                            []string
}

// Plus returns the results of both.
func (r Results) Plus(other Results) Results {
	return Results{r.Passed + other.Passed, r.Skipped + other.Skipped, r.Rounds + other.Rounds, r.Repeated + other.Repeated, append(r.Failed, other.Failed...)}
}

// logged matches what a test says by t.Log, and what go test says of it.
var logged = regexp.MustCompile(`^(=== | *--- |    \S|        )`)

// ResultsOf reads the events of a command, and prints what gotestsum leaves out: the counts of a soak, and in a package
// that failed what passed tests have printed. The panic or the race of another test may be among that. It returns an error
// if a test has failed or was skipped, or none has passed.
func ResultsOf(command []string, events string, out io.Writer) (r Results, err error) {
	file, err := os.Open(events)
	if err != nil {
		return r, err
	}
	defer file.Close()
	last, printed := map[Test]string{}, map[Test]string{}
	err = Read(file, func(e Event) {
		switch test := e.Of(); {
		case slices.Contains([]string{"start", "run", "pass", "skip", "fail"}, e.Action):
			last[test] = e.Action
		case e.Action == "output" && !logged.MatchString(e.Output):
			printed[test] += e.Output
		case e.Key == "soak":
			fmt.Fprintf(out, "full count of %s %s: %s\n", test.Package, test.Name, e.Value)
		case e.Key == "rounds":
			r.Rounds++
		case e.Key == "repeated":
			r.Repeated++
		}
	})
	var failed []Test // or cut short
	for test, action := range last {
		switch {
		case action != "pass" && action != "skip":
			failed = append(failed, test)
		case test.Name == "":
		case action == "skip":
			r.Skipped++
		default:
			r.Passed++
			if last[Test{Package: test.Package}] != "pass" && printed[test] != "" {
				fmt.Fprintf(out, "\nprinted beside %s %s, which passed:\n%s", test.Package, test.Name, printed[test])
			}
		}
	}
	for _, test := range failed {
		if !slices.ContainsFunc(failed, func(f Test) bool { return f.Below(test) }) {
			r.Failed = append(r.Failed, test.again(command))
		}
	}
	slices.Sort(r.Failed)
	if len(r.Failed) > 0 || r.Skipped > 0 || r.Passed == 0 {
		err = errors.Join(err, fmt.Errorf("%d tests failed, %d were skipped, and %d have passed", len(r.Failed), r.Skipped, r.Passed))
	}
	return r, err
}

// again returns the command that repeats one test of a command.
func (t Test) again(command []string) string {
	words := slices.DeleteFunc(slices.Clone(command), func(word string) bool { return word == "-json" || strings.HasPrefix(word, "./") })
	if t.Name != "" {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name), "/", "$/^") + "$"
		words = append(words, "-run", "'"+strings.ReplaceAll(pattern, "'", `'\''`)+"'")
	}
	return "RUEIDISSON_REQUIRE_SERVERS=1 " + strings.Join(append(words, t.Package), " ")
}
