package chaos

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var (
	total    = flag.Duration("for", 0, "run rounds of 3 s for so long, in place of the short ones")
	only     = flag.String("only", "", "objects, nemeses, topologies and versions of servers, separated by commas")
	seeded   = flag.Uint64("seed", 0, "repeat names, choices and the order of nemeses of a run; 0: others each time")
	repeated = flag.Uint64("round", 0, "repeat one round, of the object, the nemesis and the topology of -only, with the seed that a failure prints")
	mutated  = flag.Int("mutants", 0, "remove so many lines of scripts, one at a time, and say which of them nothing found")
	pagePath = flag.String("page", "", "write what a run with -for or -mutants saw into this file, and its pictures into the .html file next to it")
)

func TestMain(m *testing.M) {
	if err := arguments(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	redistest.Main(m, redistest.Children{"user": user})
}

// arguments reads the flags. Its error is one line: the list of all flags of a test would hide it.
func arguments(args []string) error {
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	err := flag.CommandLine.Parse(args)
	flag.CommandLine.SetOutput(os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flag.Usage()
		os.Exit(0)
	case err != nil:
		return err
	case flag.NArg() > 0:
		return fmt.Errorf("%q is no flag", flag.Arg(0))
	case *total < 0 || *mutated < 0:
		return errors.New("-for and -mutants are not negative")
	}
	if err := known(*only); err != nil {
		return err
	}
	if *total > 0 && *total < least() && *only == "" && *mutated == 0 && *repeated == 0 {
		return fmt.Errorf("-for %v is too short for a round of each object under each group of nemeses, which take %v; -only chooses some", *total, least())
	}
	if *repeated > 0 && (len(left(objectNames)) != 1 || len(left(nemesisNames)) != 1) {
		return errors.New("-round repeats a round of one object and one nemesis: -only names them")
	}
	if *total > 0 || *mutated > 0 || *repeated > 0 || redistest.Required() {
		return redistest.Missing(versions...)
	}
	return nil
}

// long is the length of a round of a run with -for.
const long = 3 * time.Second

// least is how long a run takes that has a round of each cell. Its stages have the same time, and the lanes of single servers share the
// cells.
func least() time.Duration {
	most := 0
	for _, at := range topologies {
		cells := 0
		for _, o := range objects {
			cells += len(at.needsOf(o))
		}
		if at.name == onSingle {
			cells = cells/len(versions) + 1
		}
		most = max(most, cells)
	}
	return long * time.Duration(most*len(stages(0)))
}

// kind is what words of -only name.
type kind struct {
	what  string
	names iter.Seq[string]
}

var kinds = []kind{{"objects", objectNames}, {"nemeses", nemesisNames}, {"topologies", topologyNames}, {"servers", versionNames}}

// known returns an error for words that name nothing.
func known(words string) error {
	var all []string
	are := ""
	for _, k := range kinds {
		names := slices.Collect(k.names)
		all = append(all, names...)
		are += fmt.Sprintf("; %s: %s", k.what, strings.Join(names, ", "))
	}
	for _, word := range strings.Split(words, ",") {
		if word != "" && !slices.Contains(all, word) {
			return fmt.Errorf("%q is no object, no nemesis, no topology and no server%s", word, are)
		}
	}
	return nil
}

// chosen reports whether -only leaves something out.
func chosen(name string, of iter.Seq[string]) bool {
	words := strings.Split(*only, ",")
	for other := range of {
		if slices.Contains(words, other) {
			return slices.Contains(words, name)
		}
	}
	return true
}

// left returns the names that -only leaves.
func left(of iter.Seq[string]) (names []string) {
	for name := range of {
		if chosen(name, of) {
			names = append(names, name)
		}
	}
	return names
}

func objectNames(yield func(string) bool) {
	for _, o := range objects {
		if !yield(o.name) {
			return
		}
	}
}

func nemesisNames(yield func(string) bool) {
	for _, n := range nemeses {
		if !yield(n.name) {
			return
		}
	}
}

// versionNames are the servers of a run.
func versionNames(yield func(string) bool) {
	for _, v := range versions {
		if !yield(v) {
			return
		}
	}
}

// TestBadInputIsOneLine: what a run cannot follow ends it before it begins.
func TestBadInputIsOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args string
		env  string
		says string
	}{
		"no object and no nemesis":        {"-only lock,paper", "", `"paper" is no object, no nemesis, no topology and no server; objects: lock, fair`},
		"the nemeses are listed":          {"-only paper", "", "; nemeses: none, lost-replies"},
		"the topologies are listed":       {"-only paper", "", "; topologies: single, sentinel, "},
		"a seed that is no number":        {"-seed seven", "", `invalid value "seven" for flag -seed`},
		"a time that is none":             {"-for ever", "", `invalid value "ever" for flag -for`},
		"a negative time":                 {"-for -1s", "", "not negative"},
		"too little time":                 {"-for 5s", "", "-for 5s is too short"},
		"too little time with a page":     {"-for 5s -page x.md", "", "-for 5s is too short"},
		"too many words":                  {"lock", "", `"lock" is no flag`},
		"an unknown flag":                 {"-object lock", "", "-object"},
		"which round":                     {"-round 7 -only lock", "", "one object and one nemesis"},
		"no server":                       {"-for 1h", "REDIS_SERVER_7=/no/such/server", "/no/such/server"},
		"no server for a few objects":     {"-for 3s -only lock", "REDIS_SERVER_8=/no/such/server", "/no/such/server"},
		"no server for mutants":           {"-mutants 1", "VALKEY_SERVER_8=/no/such/server", "/no/such/server"},
		"no server where they have to be": {"", "RUEIDISSON_REQUIRE_SERVERS=1 REDIS_SERVER_7=/no/such/server", "/no/such/server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := exec.Command(os.Args[0], append([]string{"-test.run=^$"}, strings.Fields(c.args)...)...)
			run.Env = append(os.Environ(), strings.Fields(c.env)...)
			var says strings.Builder
			run.Stderr = &says
			err := run.Run()
			exit, is := errors.AsType[*exec.ExitError](err)
			require.True(t, is, "it ended with %v", err)
			require.Equal(t, 2, exit.ExitCode(), says.String())
			require.Contains(t, says.String(), c.says)
			require.Equal(t, 1, strings.Count(says.String(), "\n"), "one line: %s", says.String())
		})
	}
}

// TestGoodInputIsTaken: a run begins, here without any test.
func TestGoodInputIsTaken(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "-only lock,cut,8.0", "-seed 7 -only near", "-for 1h"} {
		run := exec.Command(os.Args[0], append([]string{"-test.run=^$"}, strings.Fields(args)...)...)
		run.Env = append(os.Environ(), "REDIS_SERVER_7="+os.Args[0], "REDIS_SERVER_8="+os.Args[0], "VALKEY_SERVER_8="+os.Args[0])
		text, err := run.CombinedOutput()
		require.NoError(t, err, "%s: %s", args, text)
	}
}
