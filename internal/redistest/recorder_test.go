package redistest

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const recordedScript = `-- name.lua: a script
--
-- KEYS[1]  a key
-- ARGV[1]  a value
--
-- Returns  nil  always
-- Replay   safe: it does nothing
return nil`

func TestTheRecorderKnowsAScriptByItsTextOrItsHash(t *testing.T) {
	t.Parallel()
	client, err := rueidis.NewClient(Miniredis(t).ClientOption())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	r := RecordScripts(t, client)
	var around []string
	r.Around(func(s string) { around = append(around, "before "+s) }, func(s string) { around = append(around, "after "+s) })
	byHash := func() rueidis.Completed {
		return r.B().Evalsha().Sha1(scriptSum(recordedScript)).Numkeys(1).Key("k").Arg("v").Build()
	}
	r.Do(t.Context(), byHash())
	assert.Empty(t, r.Take(), "nobody has told the text")
	want := ScriptCall{Script: "name.lua", Keys: []string{"k"}, Args: []string{"v"}}
	r.Do(t.Context(), r.B().Eval().Script(recordedScript).Numkeys(1).Key("k").Arg("v").Build())
	r.DoMulti(t.Context(), r.B().Ping().Build(), byHash())
	r.Do(t.Context(), r.B().Eval().Script("return 1").Numkeys(0).Build())
	calls := r.Await("name.lua")
	require.Len(t, calls, 2)
	for _, c := range calls {
		c.Check(t)
		want.Header = c.Header
		assert.Equal(t, want, c)
	}
	assert.Equal(t, []string{"before name.lua", "after name.lua", "before name.lua", "after name.lua"}, around)

	later := RecordScripts(t, client)
	later.Learn(recordedScript)
	require.True(t, rueidis.IsRedisNil(later.Do(t.Context(), byHash()).Error()))
	assert.Equal(t, []string{"name.lua"}, ScriptNames(later.Await("name.lua")))
}

func TestACallThatIsNotAsItsHeaderSays(t *testing.T) {
	t.Parallel()
	r := RecordScripts(t, nil)
	check := func(cmd ...string) int {
		call, ok := r.callOf(append([]string{"EVAL", recordedScript}, cmd...))
		require.True(t, ok)
		spy := &errorSpy{TB: t}
		call.Check(spy)
		return spy.errors
	}
	assert.Zero(t, check("1", "k", "v"))
	assert.Equal(t, 1, check("1", "k"), "no value")
	assert.Equal(t, 1, check("2", "{a}k", "{a}l", "v"), "a key too many")
	assert.Equal(t, 2, check("2", "a", "b", "v"), "and of another slot")
	assert.Equal(t, 1, check("1", "", "v"), "an empty key")
}
