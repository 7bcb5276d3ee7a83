package main

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
)

// objectKind says how the commands ls, info and rm of a noun find its objects.
type objectKind struct {
	noun    string   // the command
	plural  string   // as the help calls them
	example string   // a name
	kinds   []string // as inspect calls them
	prefix  string   // of the key that ls looks for; "": the name itself
	is      string   // the type of that key
	hint    string   // what else the help of ls says
	removal string   // what else the help of rm says
	fenced  bool     // what is left of one looks like a fenced lock that is free
}

// ambiguousNumber is the kind of a number whose other keys do not tell whether it is a semaphore or a latch.
const ambiguousNumber = "semaphore or latch"

// looksAtOnce bounds the names that one list looks at together.
const looksAtOnce = 32

// hintNumbers is of numbers that may be semaphores or latches.
const hintNumbers = `
A number that may be a semaphore or a latch is shown by "sem ls", "permit ls" and
"latch ls" alike: nothing in Redis tells which of them it is.
`

var companionPrefixes = []string{"redisson_", "rueidisson_"}

// listing looks for the objects of one noun.
type listing struct {
	*scanning
	of    objectKind
	shown map[string]bool // SCAN may return a key twice
}

// objectListCommand shows the names of the objects of one noun.
func objectListCommand(t *tool, of objectKind) *cobra.Command {
	s := &scanning{tool: t}
	cmd := &cobra.Command{
		Use:                   "ls [PATTERN] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Show the names of the " + of.plural,
		Long: fmt.Sprintf(`ls shows the names of the %s, one a line, in no order:
all of them, or those that match PATTERN (*, ? and [abc] as in a shell; quote it). A
name that has something which is not printable is quoted as Go does it.
%s
It looks through the keys of Redis, of all masters of a cluster, by SCAN, and says
so on standard error if there are more than --scan allows.

With --json an object in each line: {"name", "kind"}. The exit code is 0 also if there
are none.`, of.plural, of.hint),
		Example: fmt.Sprintf("  rueidisson %s ls\n  rueidisson %s ls '%s*' --json", of.noun, of.noun, of.example),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("one PATTERN at the most, not %d: quote it", len(args))
			}
			return s.check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) == 1 {
				pattern = args[0]
			}
			return unlessInterrupted(cmd.Context(), func(ctx context.Context) error {
				return s.withRedis(func(*rueidisson.Client) error { return listObjects(ctx, s, of, pattern) })
			})
		},
	}
	s.add(cmd)
	return cmd
}

// listObjects shows the names of objects page by page.
func listObjects(ctx context.Context, looking *scanning, of objectKind, pattern string) error {
	s := &listing{scanning: looking, of: of, shown: map[string]bool{}}
	if s.of.prefix == "" || pattern == "*" || strings.Contains(pattern, "{") {
		return s.names(ctx, s.of.prefix+pattern, func(string) bool { return true })
	}
	// In the key a name that has a brace stands as it is, and any other in braces.
	for _, braced := range []bool{false, true} {
		match := s.of.prefix + "{" + pattern + "}"
		if braced {
			match = s.of.prefix + pattern
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
	return s.keys(ctx, match, s.of.is, func(keys []string) error {
		var names []string
		for _, key := range keys {
			name := nameInKey(key, s.of.prefix)
			if name != "" && !s.shown[name] && fits(name) {
				names = append(names, name)
			}
		}
		kinds, err := s.kindsOf(ctx, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if !slices.Contains(s.of.kinds, kinds[i]) || s.shown[name] {
				continue
			}
			s.shown[name] = true
			if !s.json {
				fmt.Fprintln(s.stdout, printable(name))
				continue
			}
			s.sayJSON(s.stdout, struct {
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
	if s.of.prefix != "" { // its key tells
		for i := range kinds {
			kinds[i] = s.of.kinds[0]
		}
		return kinds, nil
	}
	var looks sync.WaitGroup
	slots := make(chan struct{}, looksAtOnce)
	for i, name := range names {
		slots <- struct{}{}
		looks.Go(func() { // ends with its look
			defer func() { <-slots }()
			kind, err := (&look{tool: s.tool, redis: s.redis, name: name, brief: true}).kind(ctx)
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

// objectInfoCommand shows what inspect shows, of objects of one noun.
func objectInfoCommand(t *tool, of objectKind) *cobra.Command {
	return &cobra.Command{
		Use:   "info NAME",
		Short: "Show the state of NAME",
		Long: fmt.Sprintf(`info shows what "rueidisson inspect NAME" shows, if NAME is one of the %s.

With --json one object, as by inspect; {"name", "found":false} if there is none.

Exit codes:
  1    there is none of that name
  69   the server cannot be reached, or refuses; NAME is something else`, of.plural),
		Example: fmt.Sprintf("  rueidisson %s info %s --json", of.noun, of.example),
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := findObject(cmd.Context(), t, of, args[0])
			if err != nil {
				return err
			}
			return seen.show()
		},
	}
}

// findObject returns the object of a name. That there is none, or one of another kind, is an error.
func findObject(ctx context.Context, t *tool, of objectKind, name string) (seen seenObject, err error) {
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
		if f.Kind == "" || of.fenced && f.Kind == "fenced" && !f.Held {
			return seen, t.absent(absentTold{Name: name}, nil)
		}
		seen = seenObject{kind: f.Kind, show: func() error { return f.say(t) }}
	}
	if !slices.Contains(of.kinds, seen.kind) {
		what := "something else"
		if seen.kind != kindUnknown {
			what = "of the kind " + seen.kind
		}
		return seen, &ending{code: exitUnavailable, err: fmt.Errorf(`%q is %s; see "rueidisson inspect %s"`, name, what, name)}
	}
	return seen, nil
}

// objectRemoveCommand removes objects that the library can delete.
func objectRemoveCommand(t *tool, of objectKind, handle func(c *rueidisson.Client, name string, seen seenObject) removable) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove NAME with all that it has",
		Long: fmt.Sprintf(`rm removes NAME, if it is one of the %s.
%s
With --json: {"name", "removed"}, or {"name", "found":false}.

Exit codes:
  1    there is none of that name
  69   the server cannot be reached, or refuses; NAME is something else`, of.plural, of.removal),
		Example: fmt.Sprintf("  rueidisson %s rm %s", of.noun, of.example),
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := findObject(cmd.Context(), t, of, args[0])
			if err != nil {
				return err
			}
			return t.withClient(func(c *rueidisson.Client) error { return t.tellRemoved(cmd.Context(), handle(c, args[0], seen)) })
		},
	}
}
