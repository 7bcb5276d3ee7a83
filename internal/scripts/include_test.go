package scripts_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

const head = "-- KEYS[1]  a list\n-- Returns  integer\n-- Replay   safe: it reads\n"

func folder(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys["lua/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestAPartComesBetweenHeaderAndCode(t *testing.T) {
	t.Parallel()
	fsys := folder(map[string]string{
		"pop.lua":   "-- pop.lua: x\n-- Include: queue.lua\n-- Include: time.lua\n" + head + "return size(KEYS[1]) + now()\n",
		"queue.lua": "-- queue.lua: what a queue is\n-- Include: time.lua\nlocal function size(key) return redis.call('llen', key) end\n",
		"time.lua":  "-- time.lua: the server's time\nlocal function now() return 0 end\n",
		"plain.lua": head + "return 1\n",
	})
	want := "-- pop.lua: x\n-- Include: queue.lua\n-- Include: time.lua\n" + head + "\n" +
		"-- time.lua: the server's time\nlocal function now() return 0 end\n" +
		"-- queue.lua: what a queue is\n-- Include: time.lua\nlocal function size(key) return redis.call('llen', key) end\n" +
		"return size(KEYS[1]) + now()\n"
	got, err := scripts.Read(fsys, "lua/pop.lua")
	require.NoError(t, err)
	assert.Equal(t, want, got, "each part once, behind what it needs")
	assert.Equal(t, want, scripts.Must(fsys, "lua/pop.lua").Body())
	got, err = scripts.Read(fsys, "lua/plain.lua")
	require.NoError(t, err)
	assert.Equal(t, head+"return 1\n", got, "no byte more than the file")
}

func TestAPartThatPackagesShareIsTakenUnlessTheFolderHasItsOwn(t *testing.T) {
	t.Parallel()
	got, err := scripts.Read(folder(map[string]string{"a.lua": "-- Include: lane.lua\n" + head}), "lua/a.lua")
	require.NoError(t, err)
	assert.Contains(t, got, "local function remember(")
	got, err = scripts.Read(folder(map[string]string{"a.lua": "-- Include: lane.lua\n" + head, "lane.lua": "local own\n"}), "lua/a.lua")
	require.NoError(t, err)
	assert.NotContains(t, got, "local function remember(")
	assert.Contains(t, got, "local own\n")
}

func TestAScriptRunsWithItsPart(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/including.lua")
	for range 2 { // by its text, and by the hash of all of it
		got, err := s.Exec(t.Context(), r, []string{"list"}, nil).AsInt64()
		require.NoError(t, err)
		assert.EqualValues(t, 42, got)
	}
	assert.Equal(t, []string{"EVALSHA", "EVAL", "EVALSHA"}, r.verbs())
}

func TestAPartThatCannotBeTakenIn(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		files map[string]string
		says  string
	}{
		"missing":          {map[string]string{"a.lua": "-- Include: b.lua\n" + head}, "a.lua includes open lua/b.lua: file does not exist"},
		"itself":           {map[string]string{"a.lua": "-- Include: a.lua\n" + head}, "a.lua includes a.lua, which includes it"},
		"of its own":       {map[string]string{"a.lua": "-- Include: b.lua\n" + head, "b.lua": head}, "a.lua includes b.lua, which is a script of its own"},
		"of other folders": {map[string]string{"a.lua": "-- Include: ../b.lua\n" + head}, "a.lua includes ../b.lua of another folder"},
		"in a circle": {map[string]string{
			"a.lua": "-- Include: b.lua\n" + head, "b.lua": "-- Include: c.lua\n", "c.lua": "-- Include: b.lua\n",
		}, "a.lua includes b.lua includes c.lua includes b.lua, which includes it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := folder(of.files)
			_, err := scripts.Read(fsys, "lua/a.lua")
			require.EqualError(t, err, of.says)
			assert.PanicsWithValue(t, of.says, func() { scripts.Must(fsys, "lua/a.lua").Body() }, "at the first use")
		})
	}
}
