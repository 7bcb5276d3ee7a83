package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestTheDeadChangesOfAMap are shown, redriven and purged.
func TestTheDeadChangesOfAMap(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	do := func(code int, args string) said {
		t.Helper()
		got := runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"map"}, strings.Fields(args)...)...)
		require.Equal(t, code, got.code, "%s: %s", args, got.errors)
		return got
	}
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	for kind, m := range map[string]func(write func(context.Context, []writethrough.Change[string, int]) error) *writethrough.Map[string, int]{
		"": func(write func(context.Context, []writethrough.Change[string, int]) error) *writethrough.Map[string, int] {
			return writethrough.New(rmap.New[string, int](c, "m"), write, writethrough.WithBehind(1))
		},
		" --cache": func(write func(context.Context, []writethrough.Change[string, int]) error) *writethrough.Map[string, int] {
			return writethrough.New(rmap.NewCache[string, int](c, "m"), write, writethrough.WithBehind(1))
		},
	} {
		require.Empty(t, do(0, "dead m"+kind).out)
		require.Equal(t, "0\n", do(1, "redrive m"+kind).out)
		require.Equal(t, "0\n", do(1, "purge m"+kind).out)
		w := m(func(context.Context, []writethrough.Change[string, int]) error {
			return writethrough.Discard(errors.New("no\tshelf"))
		})
		require.NoError(t, w.Put(t.Context(), "apple", 1))
		require.NoError(t, w.Flush(t.Context()))
		require.NoError(t, w.Put(t.Context(), "apple", 2))
		require.NoError(t, w.Flush(t.Context()))
		_, err = w.Remove(t.Context(), "pear")
		require.NoError(t, err)
		require.NoError(t, w.Close(t.Context()))
		var ids []string
		var lines []string
		for line := range strings.Lines(do(0, "dead m"+kind).out) {
			id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			ids, lines = append(ids, id), append(lines, rest)
		}
		require.Equal(t, []string{
			"put\tovertaken\tapple\t1\t\"no\\tshelf\"", "put\t-\tapple\t2\t\"no\\tshelf\"", "removed\t-\tpear\t\t\"no\\tshelf\"",
		}, lines)
		got := do(0, "dead m --json"+kind).out
		require.Contains(t, got, `{"id":"`+ids[1]+`","key":"apple","value":2,"removed":false,"overtaken":false,"when":"`)
		require.Contains(t, got, `Z","cause":"no\tshelf"}`)
		require.Contains(t, got, `"key":"pear","value":null,"removed":true,`)
		require.Contains(t, do(exit.Unavailable, "dead m --codec text,json"+kind).errors, ids[1])
		require.Equal(t, "0\n", do(1, "redrive m "+ids[0]+kind).out)
		require.Equal(t, `{"name":"m","redriven":2}`+"\n", do(0, "redrive m --json"+kind).out)
		stored := map[string]int{"pear": 7}
		w = m(func(_ context.Context, changes []writethrough.Change[string, int]) error {
			for _, one := range changes {
				if stored[one.Key] = one.Value; one.Removed {
					delete(stored, one.Key)
				}
			}
			return nil
		})
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"apple": 2}, stored)
		require.Equal(t, `{"name":"m","purged":1}`+"\n", do(0, "purge m --json"+kind).out)
		require.Empty(t, do(0, "dead m"+kind).out)
		do(exit.Usage, "purge m x"+kind)
		do(exit.Usage, "purge"+kind)
		require.NoError(t, rmap.New[string, int](c, "m").Clear(t.Context()))
	}
}
