package maps

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/rmap"
)

// forceFlag adds the flag of commands on entries.
func (m *mapCall) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&m.force, "force", false, "do it although NAME is an object of another kind")
}

// checkKind refuses a name that is an object of another kind than the flags say: an entry of
// a map among those of a cache breaks each reader of the whole, and the reverse. Where the
// look itself fails, the command says why.
func (m *mapCall) checkKind(ctx context.Context, name string) error {
	if m.force {
		return nil
	}
	redis, err := m.Dial()
	if err != nil {
		return exit.Failed(err)
	}
	defer redis.Close()
	kind, err := (&inspect.Look{Tool: m.Tool, Redis: redis, Name: name, Brief: true}).Kind(ctx)
	if err != nil {
		return nil
	}
	hint := `"rueidisson inspect" shows it`
	switch kind {
	case inspect.KindNone, inspect.KindUnknown:
		return nil
	case inspect.KindSharded:
		if m.sharded {
			return nil
		}
		hint = "give --sharded"
	case inspect.KindMap, inspect.KindTTLMap, inspect.KindCache:
		if (kind == inspect.KindCache) == m.cache && !m.sharded {
			return nil
		}
		hint = map[bool]string{true: "give --cache", false: "leave --cache out"}[kind == inspect.KindCache]
		if m.sharded {
			hint = "leave --sharded out"
		}
	}
	return exit.Failed(fmt.Errorf("map %q: %w: it is a %s: %s, or give --force", name, rmap.ErrWrongKind, kind, hint))
}
