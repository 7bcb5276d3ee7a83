package bucket

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

func TestJSONLosesReplies(t *testing.T) { faultyDocument().LosesReplies(t) }
func TestJSONReadsAgain(t *testing.T)   { faultyDocument().ReadsAgain(t) }
func TestJSONRefuses(t *testing.T)      { faultyDocument().Refuses(t) }
func TestJSONClosed(t *testing.T)       { faultyDocument().Closed(t) }

// faultyDocument describes documents to the tables of faults.
func faultyDocument() enginetest.Object {
	o := enginetest.Object{
		Old: oldDocument, State: documentState, Before: oldOrder, Needs: []string{"set", "swap"}, Read: "update",
		Writes: map[string]enginetest.Write{}, Reads: map[string]enginetest.Read{}, On: []redistest.Option{redistest.JSON()},
	}
	on := func(do func(ctx context.Context, d documents) (any, error)) enginetest.Do {
		return func(ctx context.Context, e *locking.Engine, name string) (any, error) {
			return do(ctx, documentsOn(e, name))
		}
	}
	for what, one := range documentEffects {
		o.Writes[what] = enginetest.Write{Do: on(one.do), Sends: one.sends, Left: one.left}
	}
	for what, one := range documentReads {
		o.Reads[what] = enginetest.Read{Do: on(one.do), Sends: one.sends, Answer: one.answer}
	}
	return o
}

// TestJSONOperations does each once, on the servers and on a cluster.
func TestJSONOperations(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		for what, one := range documentEffects {
			d := documentsOn(e, fresh(t, raw))
			oldDocument(t, raw, d.name)
			answer, err := one.do(t.Context(), d)
			require.NoError(t, err, what)
			require.Equal(t, one.answer, answer, what)
			require.Equal(t, one.left, documentState(t, raw, d.name), what)
		}
		for what, one := range documentReads {
			d := documentsOn(e, fresh(t, raw))
			oldDocument(t, raw, d.name)
			answer, err := one.do(t.Context(), d)
			require.NoError(t, err, what)
			if one.answer != nil {
				require.Equal(t, one.answer, answer, what)
			}
			require.Equal(t, oldOrder, documentState(t, raw, d.name), what)
		}
	}
	redistest.OnReal(t, test, redistest.JSON())
	t.Run("RESP2", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Shared(t, redistest.JSON()).Client(t, func(o *rueidis.ClientOption) { o.AlwaysRESP2 = true }))
	})
}

// TestJSONOfNone does each operation without a document.
func TestJSONOfNone(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		writes := map[string]bool{"set": true, "set with a time": true, "set that keeps the time": true, "set if absent": true, "swap": true, "merge": true, "update": true}
		for what, one := range documentEffects {
			d := documentsOn(e, fresh(t, raw))
			answer, err := one.do(t.Context(), d)
			require.NoError(t, err, what)
			require.Equal(t, writes[what], documentState(t, raw, d.name) != "none", what)
			if !writes[what] {
				require.Contains(t, []any{nil, false, int64(0)}, answer, what)
			}
		}
		for what, one := range documentReads {
			answer, err := one.do(t.Context(), documentsOn(e, fresh(t, raw)))
			require.NoError(t, err, what)
			require.True(t, answer == nil || assert.ObjectsAreEqual(answer, []int(nil)) || assert.ObjectsAreEqual(answer, false) ||
				assert.ObjectsAreEqual(answer, int64(0)) || assert.ObjectsAreEqual(answer, time.Duration(0)), "%s: %v", what, answer)
		}
	}, redistest.JSON())
}

// TestJSONKeyOfAnotherType keeps what it has, and how long.
func TestJSONKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		refused := func(what string, do func(ctx context.Context, d documents) (any, error)) {
			d := documentsOn(e, fresh(t, raw))
			old(t, raw, d.name)
			_, err := do(t.Context(), d)
			require.ErrorContains(t, err, "is no JSON document", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			require.Equal(t, "old hour", state(t, raw, d.name), what)
		}
		for what, one := range documentEffects {
			if !one.moves {
				refused(what, one.do)
			}
		}
		for what, one := range documentReads {
			if !one.any {
				refused(what, one.do)
			}
		}
		d := documentsOn(e, fresh(t, raw))
		old(t, raw, d.name)
		require.ErrorIs(t, d.doc.Check(t.Context()), core.ErrWrongKind)
		oldDocument(t, raw, "to:{"+d.name+"}")
		require.NoError(t, NewJSON[order](e, "to:{"+d.name+"}").Check(t.Context()))
	}, redistest.JSON())
}

// TestJSONWithoutTheModule says so, of each operation, and names no value.
func TestJSONWithoutTheModule(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		says := func(what string, err error) {
			require.ErrorIs(t, err, errors.ErrUnsupported, what)
			require.ErrorContains(t, err, "RedisJSON", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			require.NotContains(t, err.Error(), "$", what)
		}
		for what, one := range documentEffects {
			if !one.moves {
				_, err := one.do(t.Context(), documentsOn(e, fresh(t, raw)))
				says(what, err)
			}
		}
		for what, one := range documentReads {
			if !one.any {
				_, err := one.do(t.Context(), documentsOn(e, fresh(t, raw)))
				says(what, err)
			}
		}
		says("check", documentsOn(e, fresh(t, raw)).doc.Check(t.Context()))
	})
}

// TestJSONCallsPassWhatTheHeadersName also sees that each script of documents is called.
func TestJSONCallsPassWhatTheHeadersName(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.JSON()) // which knows no script yet
	r := redistest.RecordScripts(t, server.Client(t))
	d := documentsOn(enginetest.On(t, r), fresh(t, r))
	seen := map[string]bool{"json_bytes.lua": true} // which is sent after a late answer
	for what, one := range documentEffects {
		if what == "rename" || what == "copy" { // whose other name is of another slot
			continue
		}
		oldDocument(t, r, d.name)
		r.Take()
		_, err := one.do(t.Context(), d)
		require.NoError(t, err, what)
		for _, call := range r.Take() {
			call.Check(t)
			assert.Equal(t, d.name, call.Keys[0])
			seen[call.Script] = true
		}
	}
	oldDocument(t, r, d.name)
	for what, one := range documentReads {
		_, err := one.do(t.Context(), d)
		require.NoError(t, err, what)
		for _, call := range r.Take() {
			call.Check(t)
			seen[call.Script] = true
		}
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		assert.True(t, scripts.IsPart(body) || !strings.HasPrefix(file.Name(), "json_") || seen[file.Name()], "nobody calls %s", file.Name())
	}
}

// TestJSONUnderTheACLOfTheDocs runs every operation under the user that docs/redis.md sets up, with what it adds for documents.
func TestJSONUnderTheACLOfTheDocs(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t, redistest.JSON()), "../docs/redis.md", jsonACL)
	e := enginetest.On(t, user.Client(t))
	d := documentsOn(e, "orders:1")
	for what, one := range documentEffects {
		oldDocument(t, user.Admin, d.name)
		if what == "rename" || what == "copy" {
			_, err := d.doc.Rename(t.Context(), "orders:{orders:1}")
			require.NoError(t, err)
			continue
		}
		_, err := one.do(t.Context(), d)
		require.NoError(t, err, what)
	}
	oldDocument(t, user.Admin, d.name)
	for what, one := range documentReads {
		_, err := one.do(t.Context(), d)
		require.NoError(t, err, what)
	}
	for range 100 { // some of them look for a claim
		_, _, err := d.doc.Update(t.Context(), longerOrder)
		require.NoError(t, err)
	}
	require.NoError(t, d.doc.Check(t.Context()))
	user.NothingDenied(t)
}

const jsonACL = "+json.get +json.set +json.del +json.merge +json.clear +json.type +json.toggle +json.numincrby +json.strappend +json.strlen " +
	"+json.arrappend +json.arrindex +json.arrinsert +json.arrlen +json.arrpop +json.arrtrim +json.objkeys +json.objlen"

// TestJSONWriteThatMayNotBeFinishedIsNotBegun: a user who may not set times to live writes nothing that needs one.
func TestJSONWriteThatMayNotBeFinishedIsNotBegun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.JSON())
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all", "-pexpire", "-persist")
	d := documentsOn(enginetest.On(t, server.Client(t, func(c *rueidis.ClientOption) { c.Username, c.Password = "orders", "password" })), "d")
	oldDocument(t, raw, d.name)
	for _, opts := range [][]SetOption{nil, {WithTTL(day)}} {
		require.ErrorContains(t, d.doc.Set(t.Context(), newOrder(), opts...), "can't run this command")
		require.Equal(t, oldOrder, documentState(t, raw, d.name))
	}
	require.NoError(t, d.doc.Set(t.Context(), newOrder(), WithKeepTTL()))
	require.Equal(t, newText+" hour", documentState(t, raw, d.name))
}

func TestJSONOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.JSON())
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for what, one := range documentEffects {
			d := documentsOn(e, fresh(t, raw))
			oldDocument(t, raw, d.name)
			answer, err := one.do(t.Context(), d)
			require.NoError(t, err, what)
			require.Equal(t, one.answer, answer, what)
			require.Equal(t, one.left, documentState(t, raw, d.name), what)
		}
	})
	t.Run("the model", func(t *testing.T) { documentAgainstTheModel(t, raw) })
	t.Run("a slot moves under a document", func(t *testing.T) { aDocumentMoves(t, cluster) })
}

// aDocumentMoves moves a document while it is used: nothing fails, and nothing is lost.
func aDocumentMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	d := documentsOn(enginetest.On(t, raw), fresh(t, raw))
	require.NoError(t, d.doc.Set(t.Context(), order{}))
	done := enginetest.WhileASlotMoves(t, cluster, []string{d.name}, func(ctx context.Context, g, _ int) bool {
		var err error
		if g%2 == 0 {
			_, _, err = d.doc.Update(ctx, longerOrder)
		} else {
			_, _, err = d.n.Add(ctx, 1)
		}
		return assert.NoError(t, err)
	})
	n, _, err := d.n.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, done, n)
}

// TestJSONLongDocumentOverASlowLink takes longer than a send has, and arrives.
func TestJSONLongDocumentOverASlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.JSON())
	raw := server.Client(t)
	long := strings.Repeat("0123456789abcdef", 3<<20/16)
	fast := NewJSON[map[string]string](enginetest.Plain(t, raw), fresh(t, raw))
	require.NoError(t, fast.Set(t.Context(), map[string]string{"a": long, "b": "short"}))
	slow := NewJSON[map[string]string](enginetest.Slow(t, server, 2<<20), fast.Name())
	got, there, err := slow.Get(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	require.True(t, got["a"] == long)
	a := TextAt(slow, "$.a")
	part, _, err := a.Get(t.Context())
	require.NoError(t, err)
	require.True(t, part == long)
	part, did, err := a.Swap(t.Context(), "short")
	require.NoError(t, err)
	require.True(t, did)
	require.True(t, part == long)
}

// longDocument stores a document of 3 MB, and returns a handle over a link on which it takes longer than a send has, by a client
// that has read nothing.
func longDocument(t *testing.T, more string) (raw rueidis.Client, slow *JSON[map[string]any], v map[string]any) {
	t.Helper()
	server := redistest.Shared(t, redistest.JSON())
	raw = server.Client(t)
	name := fresh(t, raw)
	long := strings.Repeat("0123456789abcdef", 3<<20/16)
	store(t, raw, name, `{"a":"`+long+`","b":"short"`+more+`}`)
	return raw, NewJSON[map[string]any](enginetest.Slow(t, server, 2<<20), name), map[string]any{"a": long, "b": "short"}
}

// TestJSONFailedCompareOfALongDocument answers without the document, or reads it in the time that it takes.
func TestJSONFailedCompareOfALongDocument(t *testing.T) {
	t.Parallel()
	raw, slow, v := longDocument(t, `,"n":1e2`)
	did, err := slow.CompareAndSwap(t.Context(), map[string]any{"b": "short"}, map[string]any{})
	require.NoError(t, err)
	require.False(t, did)
	did, err = At[string](slow, "$.a").CompareAndDelete(t.Context(), "short")
	require.NoError(t, err)
	require.False(t, did)
	v["n"] = 100
	did, err = slow.CompareAndSwap(t.Context(), v, map[string]any{"c": 1})
	require.NoError(t, err)
	require.True(t, did, "it is spelled in another way")
	require.Equal(t, `{"c":1}`, stored(t, raw, slow.Name()))
}

// TestJSONTakeAfterAnUpdateOfALongDocument knows how long it is.
func TestJSONTakeAfterAnUpdateOfALongDocument(t *testing.T) {
	t.Parallel()
	_, slow, v := longDocument(t, "")
	_, there, err := slow.Update(t.Context(), func(old map[string]any, _ bool) (map[string]any, Verdict, error) { return old, Keep, nil })
	require.NoError(t, err)
	require.True(t, there)
	for range 100 {
		_, _, err = At[string](slow, "$.b").Get(t.Context())
		require.NoError(t, err)
	}
	got, had, err := slow.Take(t.Context())
	require.NoError(t, err)
	require.True(t, had)
	require.True(t, assert.ObjectsAreEqual(v, got))
}
