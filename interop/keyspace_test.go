//go:build interop

package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/keyspace"
)

var keyspaceProofs = []proof{
	{row: "keys/walks/both", test: bothWalk},
	{row: "keys/names/go-java", test: goDoesToKeys},
	{row: "keys/names/java-go", test: javaDoesToKeys},
	{row: "keys/types/both", test: bothTellTypes},
}

// sharedKeys is the keys of a prefix as both sides see them.
type sharedKeys struct {
	*world
	t      *testing.T
	ctx    context.Context
	prefix string
	mine   *keyspace.Keys
	theirs peer.Keys
}

// sharedKeys returns the keys of a prefix that nobody else has, which has a letter that a pattern has to spell.
func (w *world) sharedKeys(t *testing.T) *sharedKeys {
	t.Helper()
	k := &sharedKeys{w, t, within(t), redistest.Name(t) + "[é]:", keyspace.New(w.client(t)), w.java.Keys(redistest.Name(t))}
	t.Cleanup(func() {
		_, err := keyspace.New(w.client(t)).DeleteMatch(context.WithoutCancel(k.ctx), k.pattern("*"))
		require.NoError(t, err)
	})
	return k
}

// pattern returns one of the keys of the prefix.
func (k *sharedKeys) pattern(rest string) string {
	return k.prefix[:len(k.prefix)-len("[é]:")] + `\[é\]:` + rest
}

// fill makes keys, some of each type, in many slots, and returns their names.
func (k *sharedKeys) fill(n int) (names []string) {
	k.t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s%04d", k.prefix, i)
		words := [][]string{{"SET", name, "v"}, {"RPUSH", name, "v"}, {"HSET", name, "f", "v"}}[i%3]
		require.NoError(k.t, k.redis.Do(k.ctx, k.redis.B().Arbitrary(words[0]).Keys(name).Args(words[2:]...).Build()).Error())
		names = append(names, name)
	}
	return names
}

// has is what both sides find of a pattern, and how many there are.
func (k *sharedKeys) has(rest string, want []string) {
	k.t.Helper()
	found := map[string]bool{}
	for name, err := range k.mine.All(k.ctx, keyspace.WithMatch(k.pattern(rest))) {
		require.NoError(k.t, err)
		found[name] = true
	}
	their := map[string]bool{}
	all, err := k.theirs.Matching(k.ctx, k.pattern(rest))
	require.NoError(k.t, err)
	for _, name := range all {
		their[name.Text] = true
	}
	require.Equal(k.t, their, found)
	require.Len(k.t, found, len(want))
	for _, name := range want {
		require.True(k.t, found[name], name)
	}
	number(k.t, int64(len(want)))(k.mine.CountMatch(k.ctx, k.pattern(rest)))
}

func asWords(names []string) []any {
	words := make([]any, len(names))
	for i, name := range names {
		words[i] = name
	}
	return words
}

// bothWalk finds the same names of each pattern, and deletes the same.
func bothWalk(t *testing.T, w *world) {
	k := w.sharedKeys(t)
	k.has("*", nil)
	names := k.fill(300)
	k.has("*", names)
	k.has("00[1-2]?", names[10:30])
	k.has("000[^0-8]", names[9:10])
	number(t, 10)(k.theirs.Number(k.ctx, "deleteByPattern", k.pattern("000?")))
	number(t, 0)(k.mine.DeleteMatch(k.ctx, k.pattern("000?")))
	number(t, 90)(k.mine.DeleteMatch(k.ctx, k.pattern("00*")))
	number(t, 0)(k.theirs.Number(k.ctx, "deleteByPattern", k.pattern("00*")))
	k.has("*", names[100:])
}

func goDoesToKeys(t *testing.T, w *world) {
	k := w.sharedKeys(t)
	names := k.fill(40)
	absent := k.prefix + "absent"
	number(t, 40)(k.mine.Exists(k.ctx, append(names, absent)...))
	number(t, 40)(k.theirs.Number(k.ctx, "countExists", asWords(append(names, absent))...))
	number(t, 40)(k.mine.Touch(k.ctx, append(names, absent)...))
	number(t, 20)(k.mine.Expire(k.ctx, time.Minute, append(names[:20:20], absent)...))
	for i, name := range names {
		left, err := k.theirs.RemainTimeToLive(k.ctx, name)
		require.NoError(t, err)
		require.Equal(t, i < 20, left > 0)
	}
	number(t, 30)(k.mine.Delete(k.ctx, append(names[:30:30], absent)...))
	number(t, 10)(k.theirs.Number(k.ctx, "countExists", asWords(names)...))
	k.has("*", names[30:])
}

func javaDoesToKeys(t *testing.T, w *world) {
	k := w.sharedKeys(t)
	names := k.fill(40)
	number(t, 40)(k.theirs.Number(k.ctx, "touch", asWords(names)...))
	did(t, true)(k.theirs.Expire(k.ctx, names[0], 60_000))
	did(t, false)(k.theirs.Expire(k.ctx, k.prefix+"absent", 60_000))
	did(t, true)(k.theirs.ClearExpire(k.ctx, names[0]))
	number(t, 10)(k.theirs.Number(k.ctx, "delete", asWords(names[:10])...))
	number(t, 10)(k.theirs.Number(k.ctx, "unlink", asWords(names[10:20])...))
	number(t, 20)(k.mine.Exists(k.ctx, names...))
	k.has("*", names[20:])
	mine, err := k.mine.Count(k.ctx)
	require.NoError(t, err)
	theirs, err := k.theirs.Number(k.ctx, "count")
	require.NoError(t, err)
	require.InDelta(t, theirs, mine, 200, "others use the server, too")
	require.GreaterOrEqual(t, mine, int64(20))
}

// bothTellTypes of all kinds of keys, and of none.
func bothTellTypes(t *testing.T, w *world) {
	k := w.sharedKeys(t)
	for theirs, one := range map[string]struct {
		is   keyspace.Type
		make []string
	}{
		"OBJECT": {keyspace.String, []string{"SET", "v"}}, "LIST": {keyspace.List, []string{"RPUSH", "v"}}, "SET": {keyspace.Set, []string{"SADD", "v"}},
		"ZSET": {keyspace.SortedSet, []string{"ZADD", "1", "v"}}, "MAP": {keyspace.Hash, []string{"HSET", "f", "v"}}, "null": {is: keyspace.None},
	} {
		name := k.prefix + theirs
		if one.make != nil {
			require.NoError(t, w.redis.Do(k.ctx, w.redis.B().Arbitrary(one.make[0]).Keys(name).Args(one.make[1:]...).Build()).Error())
		}
		is, err := k.mine.Type(k.ctx, name)
		require.NoError(t, err)
		require.Equal(t, one.is, is)
		text, err := k.theirs.Type(k.ctx, name)
		require.NoError(t, err)
		require.Equal(t, theirs, text)
		if one.make == nil {
			continue
		}
		var found []string
		for name, err := range k.mine.All(k.ctx, keyspace.WithMatch(k.pattern("*")), keyspace.WithType(one.is)) {
			require.NoError(t, err)
			found = append(found, name)
		}
		slices.Sort(found)
		require.Equal(t, []string{name}, slices.Compact(found))
	}
}
