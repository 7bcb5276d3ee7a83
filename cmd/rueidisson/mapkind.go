package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"

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
	of, err := (&look{tool: m.tool, redis: redis, name: name, brief: true}).object(ctx)
	if _, unknown := of.(*otherFound); err != nil || of == nobody || unknown {
		return nil
	}
	if _, sharded := of.(*shardedFound); sharded && m.sharded {
		return nil
	}
	is, hint := "a "+cmp.Or(kindOf(of), "lock"), `"rueidisson inspect" shows it`
	switch f := of.(type) {
	case *shardedFound:
		hint = "give --sharded"
	case *mapFound:
		if (f.Kind == "cache") == m.cache && !m.sharded {
			return nil
		}
		hint = map[bool]string{true: "give --cache", false: "leave --cache out"}[f.Kind == "cache"]
		if m.sharded {
			hint = "leave --sharded out"
		}
	}
	return failed(fmt.Errorf("map %q: %w: it is %s: %s, or give --force", name, rmap.ErrWrongKind, is, hint))
}

// packed reports whether all values of a page of a hash have the header of a cache's: an
// idle time in ms, and their length.
func packed(page []string) bool {
	const header = 16
	for i := 1; i < len(page); i += 2 {
		value := []byte(page[i])
		if len(value) < header || binary.LittleEndian.Uint64(value[8:]) != uint64(len(value)-header) {
			return false
		}
		if idle := math.Float64frombits(binary.LittleEndian.Uint64(value)); !(idle >= 0) || math.IsInf(idle, 1) {
			return false
		}
	}
	return len(page) > 0
}
