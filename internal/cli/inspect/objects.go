package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// Objects says how the commands ls, info and rm of a noun find its objects.
type Objects struct {
	Noun    string   // the command
	Plural  string   // as the help calls them
	Example string   // a name
	Kinds   []string // as inspect calls them
	Prefix  string   // of the key that ls looks for; "": the name itself
	Type    string   // the type of that key
	Hint    string   // what else the help of ls says
	Removal string   // what else the help of rm says
	Fenced  bool     // what is left of one looks like a fenced lock that is free
}

// AmbiguousNumber is the kind of a number whose other keys do not tell whether it is a semaphore or a latch.
const AmbiguousNumber = "semaphore or latch"

// looksAtOnce bounds the names that one list looks at together.
const looksAtOnce = 32

// HintNumbers is of numbers that may be semaphores or latches.
const HintNumbers = `
A number that may be a semaphore or a latch is shown by "sem ls", "permit ls" and
"latch ls" alike: nothing in Redis tells which of them it is.
`

var companionPrefixes = []string{"redisson_", "rueidisson_"}

// listing looks for the objects of one noun.
type listing struct {
	*scan.Scanner
	of    Objects
	shown map[string]bool // SCAN may return a key twice
}

// ListCommand returns ls, which shows the names of the objects of one noun.
func ListCommand(t *tool.Tool, of Objects) *cobra.Command {
	s := &scan.Scanner{Tool: t}
	cmd := &cobra.Command{
		Use:                   "ls [PATTERN] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Show the names of the " + of.Plural,
		Long: fmt.Sprintf(`ls shows the names of the %s, one a line, in no order:
all of them, or those that match PATTERN (*, ? and [abc] as in a shell; quote it). A
name that has something which is not printable is quoted as Go does it.
%s
It looks through the keys of Redis, of all masters of a cluster, by SCAN, and says
so on standard error if there are more than --scan allows.

With --json an object in each line: {"name", "kind"}. The exit code is 0 also if there
are none.`, of.Plural, of.Hint),
		Example: fmt.Sprintf("  rueidisson %s ls\n  rueidisson %s ls '%s*' --json", of.Noun, of.Noun, of.Example),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("one PATTERN at the most, not %d: quote it", len(args))
			}
			return s.Check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) == 1 {
				pattern = args[0]
			}
			return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
				return s.WithRedis(func(*rueidisson.Client) error { return List(ctx, s, of, pattern) })
			})
		},
	}
	s.AddFlag(cmd)
	return cmd
}

// List shows the names of objects page by page.
func List(ctx context.Context, looking *scan.Scanner, of Objects, pattern string) error {
	s := &listing{Scanner: looking, of: of, shown: map[string]bool{}}
	if s.of.Prefix == "" || pattern == "*" || strings.Contains(pattern, "{") {
		return s.names(ctx, s.of.Prefix+pattern, func(string) bool { return true })
	}
	// In the key a name that has a brace stands as it is, and any other in braces.
	for _, braced := range []bool{false, true} {
		match := s.of.Prefix + "{" + pattern + "}"
		if braced {
			match = s.of.Prefix + pattern
		}
		err := s.names(ctx, match, func(name string) bool { return strings.Contains(name, "{") == braced })
		if err != nil {
			return err
		}
	}
	return nil
}

// names shows the names in the keys that match, except those that are shown already.
func (s *listing) names(ctx context.Context, match string, fits func(name string) bool) error {
	return s.Keys(ctx, match, s.of.Type, func(keys []string) error {
		var names []string
		for _, key := range keys {
			name := nameInKey(key, s.of.Prefix)
			if name != "" && !s.shown[name] && fits(name) {
				names = append(names, name)
			}
		}
		kinds, err := s.kindsOf(ctx, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if !slices.Contains(s.of.Kinds, kinds[i]) || s.shown[name] {
				continue
			}
			s.shown[name] = true
			if !s.JSON {
				fmt.Fprintln(s.Stdout, values.Printable(name))
				continue
			}
			s.SayJSON(s.Stdout, struct {
				Name string `json:"name"`
				Kind string `json:"kind"`
			}{name, kinds[i]})
		}
		return nil
	})
}

// nameInKey returns the name of the object of a key, "" if the key is one that an object has in addition to its name.
func nameInKey(key, prefix string) string {
	if prefix != "" {
		name := strings.TrimPrefix(key, prefix)
		if inner, braces := strings.CutPrefix(name, "{"); braces && strings.Index(name, "}") == len(name)-1 {
			name = strings.TrimSuffix(inner, "}")
		}
		return name
	}
	for _, p := range companionPrefixes {
		if strings.HasPrefix(key, p) || strings.Contains(key, ":"+p) {
			return ""
		}
	}
	return key
}

// kindsOf returns what inspect calls the objects of names. It looks at some of them at a time.
func (s *listing) kindsOf(ctx context.Context, names []string) ([]string, error) {
	kinds, errs := make([]string, len(names)), make([]error, len(names))
	if s.of.Prefix != "" { // its key tells
		for i := range kinds {
			kinds[i] = s.of.Kinds[0]
		}
		return kinds, nil
	}
	var looks sync.WaitGroup
	slots := make(chan struct{}, looksAtOnce)
	for i, name := range names {
		slots <- struct{}{}
		looks.Go(func() { // ends with its look
			defer func() { <-slots }()
			var kind string
			err := s.Patiently(ctx, func() (err error) {
				kind, err = (&Look{Tool: s.Tool, Redis: s.Redis, Name: name, Brief: true}).Kind(ctx)
				return err
			})
			if refused, is := errors.AsType[*rueidis.RedisError](err); is && strings.HasPrefix(refused.Error(), "WRONGTYPE") {
				return // a key next to the name is something else's, so this is no object
			}
			kinds[i], errs[i] = kind, err
		})
	}
	looks.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// InfoCommand returns info, which shows what inspect shows, of objects of one noun.
func InfoCommand(t *tool.Tool, of Objects) *cobra.Command {
	return &cobra.Command{
		Use:   "info NAME",
		Short: "Show the state of NAME",
		Long: fmt.Sprintf(`info shows what "rueidisson inspect NAME" shows, if NAME is one of the %s.

With --json one object, as by inspect; {"name", "found":false} if there is none.

Exit codes:
  1    there is none of that name
  69   the server cannot be reached, or refuses; NAME is something else`, of.Plural),
		Example: fmt.Sprintf("  rueidisson %s info %s --json", of.Noun, of.Example),
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := FindObject(cmd.Context(), t, of, args[0])
			if err != nil {
				return err
			}
			return seen.show()
		},
	}
}

// FindObject returns the object of a name. That there is none, or one of another kind, is an error.
func FindObject(ctx context.Context, t *tool.Tool, of Objects, name string) (seen Seen, err error) {
	found, err := inspectObject(ctx, t, name)
	if err != nil {
		return seen, err
	}
	if found != nil && found != nobody {
		seen = seenOf(found)
		seen.show = func() error { return tell(t, found) }
	} else {
		f, err := inspectLock(ctx, t, name)
		if err != nil {
			return seen, err
		}
		if f.Kind == "" || of.Fenced && f.Kind == "fenced" && !f.Held {
			return seen, t.Absent(tool.Missing{Name: name}, nil)
		}
		seen = Seen{Kind: f.Kind, show: func() error { return f.say(t) }}
	}
	if !slices.Contains(of.Kinds, seen.Kind) {
		what := "something else"
		if seen.Kind != KindUnknown {
			what = "of the kind " + seen.Kind
		}
		return seen, &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf(`%q is %s; see "rueidisson inspect %s"`, name, what, name)}
	}
	return seen, nil
}

// RemoveCommand returns rm, which removes objects that the library can delete.
func RemoveCommand(t *tool.Tool, of Objects, handle func(c *rueidisson.Client, name string, seen Seen) tool.Removable) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove NAME with all that it has",
		Long: fmt.Sprintf(`rm removes NAME, if it is one of the %s.
%s
With --json: {"name", "removed"}, or {"name", "found":false}.

Exit codes:
  1    there is none of that name
  69   the server cannot be reached, or refuses; NAME is something else`, of.Plural, of.Removal),
		Example: fmt.Sprintf("  rueidisson %s rm %s", of.Noun, of.Example),
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := FindObject(cmd.Context(), t, of, args[0])
			if err != nil {
				return err
			}
			return t.WithClient(func(c *rueidisson.Client) error { return t.TellRemoved(cmd.Context(), handle(c, args[0], seen)) })
		},
	}
}
