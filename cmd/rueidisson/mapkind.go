package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

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
	redis, err := m.dial()
	if err != nil {
		return failed(err)
	}
	defer redis.Close()
	kind, err := (&look{tool: m.tool, redis: redis, name: name, brief: true}).kind(ctx)
	if err != nil {
		return nil
	}
	hint := `"rueidisson inspect" shows it`
	switch kind {
	case kindNone, kindUnknown:
		return nil
	case kindSharded:
		if m.sharded {
			return nil
		}
		hint = "give --sharded"
	case kindMap, kindTTLMap, kindCache:
		if (kind == kindCache) == m.cache && !m.sharded {
			return nil
		}
		hint = map[bool]string{true: "give --cache", false: "leave --cache out"}[kind == kindCache]
		if m.sharded {
			hint = "leave --sharded out"
		}
	}
	return failed(fmt.Errorf("map %q: %w: it is a %s: %s, or give --force", name, rmap.ErrWrongKind, kind, hint))
}
