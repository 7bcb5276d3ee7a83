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
	noun, plural string
	example      string
	kinds        []string // as inspect calls them
	prefix       string   // of the key that ls looks for; "": the name itself
	is           string   // the type of that key
	hint         string   // what else the help of ls says
	removal      string   // what else the help of rm says
}

// ambiguousNumber is the kind of a number whose other keys do not tell whether it is a semaphore or a latch.
const ambiguousNumber = "semaphore or latch"

// looksAtOnce bounds the names that one list looks at together.
const looksAtOnce = 32

const hintNumbers = `
A number that may be a semaphore or a latch is shown by "sem ls", "permit ls" and
"latch ls" alike: nothing in Redis tells which of them it is.
`

var (
	semObjects     = objectKind{"sem", "semaphores", "reports", []string{"semaphore", ambiguousNumber}, "", "string", hintNumbers, ""}
	permitObjects  = objectKind{"permit", "semaphores whose permits have ids", "reports", []string{"permit semaphore", ambiguousNumber}, "", "string", hintNumbers, ""}
	latchObjects   = objectKind{"latch", "latches that are armed", "ready", []string{"latch", ambiguousNumber}, "", "string", hintNumbers, ""}
	barrierObjects = objectKind{"barrier", "barriers", "phase", []string{"barrier", "double barrier"}, "", "hash", "", `
It breaks the barrier for the parties that wait, as reset does. The next party makes a
new barrier. Members of a double barrier stay members until they leave. A barrier also
expires without rm, 45 seconds after its last generation.
`}
	multimapObjects = objectKind{"multimap", "multimaps", "tags", []string{"list multimap", "set multimap"}, "", "hash", "", ""}
	streamObjects   = objectKind{"stream", "streams", "orders", []string{"stream"}, "", "stream", "", ""}
	electionObjects = objectKind{"election", "elections that had a leader within a day", "scheduler", []string{"election"}, "rueidisson_term:", "hash", "", `
It removes what Redis has of the last term, which stays a day without rm. An election
that has a leader is refused: "rueidisson force-unlock NAME" deposes the leader, and the
next candidate leads then. The counter of fencing tokens stays: the numbers of later
terms have to be higher than all that were given.
`}
	mapObjects     = objectKind{"map", "maps", "prices", []string{"map", "ttl map", "cache", "sharded map"}, "", "hash", "", ""}
	shardedObjects = objectKind{"map", "sharded maps", "prices", []string{"sharded map"}, "", "string", "", ""}
	queueObjects   = objectKind{"queue", "queues", "orders", []string{"queue", "bounded queue", "ring buffer", "priority queue", "delayed queue"}, "", "list", "", `
Of a delayed queue it removes also what waits, in both formats; with --delayed only
that. Of a bounded queue and a ring buffer it removes also the capacity.
`}
	companionPrefixes = []string{"redisson_", "rueidisson_"}
)

func (t *tool) objectListCommand(of objectKind) *cobra.Command {
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
				return s.withRedis(func(*rueidisson.Client) error { return s.listObjects(ctx, of, pattern) })
			})
		},
	}
	s.add(cmd)
	return cmd
}

// listObjects shows the names of objects page by page.
func (s *scanning) listObjects(ctx context.Context, of objectKind, pattern string) error {
	shown := map[string]bool{} // SCAN may return a key twice
	if of.prefix == "" || pattern == "*" || strings.Contains(pattern, "{") {
		return s.listNames(ctx, of, of.prefix+pattern, shown, func(string) bool { return true })
	}
	// In the key a name that has a brace stands as it is, and any other in braces.
	for _, braced := range []bool{false, true} {
		match := of.prefix + "{" + pattern + "}"
		if braced {
			match = of.prefix + pattern
		}
		err := s.listNames(ctx, of, match, shown, func(name string) bool { return strings.Contains(name, "{") == braced })
		if err != nil {
			return err
		}
	}
	return nil
}

// listNames shows the names in the keys that match, except those that are shown already.
func (s *scanning) listNames(ctx context.Context, of objectKind, match string, shown map[string]bool, fits func(name string) bool) error {
	return s.keys(ctx, match, of.is, func(keys []string) error {
		var names []string
		for _, key := range keys {
			name := nameInKey(key, of.prefix)
			if name != "" && !shown[name] && fits(name) {
				names = append(names, name)
			}
		}
		kinds, err := s.kindsOf(ctx, of, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if !slices.Contains(of.kinds, kinds[i]) || shown[name] {
				continue
			}
			shown[name] = true
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
func (s *scanning) kindsOf(ctx context.Context, of objectKind, names []string) ([]string, error) {
	kinds, errs := make([]string, len(names)), make([]error, len(names))
	if of.prefix != "" { // its key tells
		for i := range kinds {
			kinds[i] = of.kinds[0]
		}
		return kinds, nil
	}
	var looks sync.WaitGroup
	slots := make(chan struct{}, looksAtOnce)
	for i, name := range names {
		slots <- struct{}{}
		looks.Go(func() { // ends with its look
			defer func() { <-slots }()
			found, err := (&look{tool: s.tool, redis: s.redis, name: name, brief: true}).object(ctx)
			if refused, is := errors.AsType[*rueidis.RedisError](err); is && strings.HasPrefix(refused.Error(), "WRONGTYPE") {
				return // a key next to the name is something else's, so this is no object
			}
			kinds[i], errs[i] = kindOf(found), err
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

// kindOf returns what inspect calls an object, "" if that is not known.
func kindOf(of finding) string {
	switch f := of.(type) {
	case *mapFound:
		return f.Kind
	case *shardedFound:
		return f.Kind
	case *queueFound:
		return f.Kind
	case *reliableFound:
		return f.Kind
	case *limiterFound:
		return f.Kind
	case *logFound:
		return f.Kind
	case *lockGroupFound:
		return f.Kind
	case *numberFound:
		return f.Kind
	case *permitsFound:
		return f.Kind
	case *barrierFound:
		return f.Kind
	case *multimapFound:
		return f.Kind
	case *streamFound:
		return f.Kind
	}
	return ""
}

// objectInfoCommand shows what inspect shows, of objects of one noun.
func (t *tool) objectInfoCommand(of objectKind) *cobra.Command {
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
			seen, err := t.findObject(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			return seen.show()
		},
	}
}

// seenObject is an object as a look has found it.
type seenObject struct {
	kind  string  // as inspect calls it
	found finding // nil: it is of the locks
	show  func() error
}

// findObject returns the object of a name. That there is none, or one of another kind, is an error.
func (t *tool) findObject(ctx context.Context, of objectKind, name string) (seen seenObject, err error) {
	found, err := t.inspectObject(ctx, name)
	if err != nil {
		return seen, err
	}
	seen = seenObject{kindOf(found), found, func() error { return t.tell(found) }}
	if found == nil || found == nobody {
		f, err := t.inspectLock(ctx, name)
		if err != nil {
			return seen, err
		}
		// The counter of tokens outlives an election, which nothing else tells from a lock that is free.
		if f.Kind == "" || of.noun == electionObjects.noun && f.Kind == "fenced" && !f.Held {
			return seen, t.absent(absentTold{Name: name}, nil)
		}
		seen = seenObject{f.Kind, nil, func() error { return f.say(t) }}
	}
	if !slices.Contains(of.kinds, seen.kind) {
		what := "something else"
		if seen.kind != "" {
			what = "of the kind " + seen.kind
		}
		return seen, &ending{code: exitUnavailable, err: fmt.Errorf(`%q is %s; see "rueidisson inspect %s"`, name, what, name)}
	}
	return seen, nil
}

// objectRemoveCommand removes objects that the library can delete.
func (t *tool) objectRemoveCommand(of objectKind, handle func(c *rueidisson.Client, name string, seen seenObject) removable) *cobra.Command {
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
			seen, err := t.findObject(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			return t.withClient(func(c *rueidisson.Client) error { return t.tellRemoved(cmd.Context(), handle(c, args[0], seen)) })
		},
	}
}

func (t *tool) electionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "election",
		Short: "Show elections and their leaders",
		Long: `election shows the elections that had a leader within a day, and the state of one, and
removes what is known of one. See "rueidisson elect --help" to lead one, and
"rueidisson observe --help" to follow it.`,
		Example: "  rueidisson election ls\n  rueidisson election info scheduler --json\n  rueidisson election rm scheduler",
		Args:    noSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return usage("a command is needed after election") },
	}
	cmd.AddCommand(t.objectListCommand(electionObjects), t.objectInfoCommand(electionObjects), t.objectRemoveCommand(electionObjects, t.electionHandle))
	return cmd
}
