package scripts_test

import (
	"context"
	"embed"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

//go:embed testdata/*.lua
var testdata embed.FS

func TestMustReadsAFile(t *testing.T) {
	t.Parallel()
	s := scripts.Must(testdata, "testdata/append.lua")
	assert.Equal(t, "append", s.Name)
	assert.Equal(t, scripts.Unsafe, s.Header().Replay)
	assert.NoError(t, s.Header().Check(1, 1))
	assert.Contains(t, s.Body(), "redis.call")
}

func TestMustPanicsOnAMistakeOfOurs(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { scripts.Must(testdata, "testdata/missing.lua").Body() })
	assert.PanicsWithValue(t, "testdata/headless.lua: header names no KEYS: a script declares what it touches",
		func() { scripts.Must(testdata, "testdata/headless.lua").Body() })
}

// sent is one command as it went out.
type sent struct {
	args  []string
	block bool // on a connection of its own
}

// recorder notes what goes to the server, pipeline by pipeline.
type recorder struct {
	rueidis.Client
	mu    sync.Mutex
	calls [][]sent
}

func (r *recorder) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	r.note(cmd)
	return r.Client.Do(ctx, cmd)
}

func (r *recorder) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	r.note(cmds...)
	return r.Client.DoMulti(ctx, cmds...)
}

// note copies: rueidis reuses a command once it was sent.
func (r *recorder) note(cmds ...rueidis.Completed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pipeline []sent
	for _, cmd := range cmds {
		pipeline = append(pipeline, sent{slices.Clone(cmd.Commands()), cmd.IsBlock()})
	}
	r.calls = append(r.calls, pipeline)
}

// verbs is what was sent since the last time, one text for each pipeline; a
// command on a connection of its own has a "+".
func (r *recorder) verbs() (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pipeline := range r.calls {
		var verbs []string
		for _, cmd := range pipeline {
			verb := cmd.args[0]
			if cmd.block {
				verb += "+"
			}
			verbs = append(verbs, verb)
		}
		texts = append(texts, strings.Join(verbs, " "))
	}
	r.calls = nil
	return texts
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	server := redistest.Miniredis(t)
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, DisableCache: true, AlwaysRESP2: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &recorder{Client: c}
}

func TestExecSendsTheTextOnlyToAServerThatDoesNotKnowIt(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	got, err := s.Exec(t.Context(), r, []string{"list"}, []string{"a"}).AsInt64()
	require.NoError(t, err)
	assert.EqualValues(t, 1, got)
	assert.Equal(t, []string{"EVALSHA", "EVAL"}, r.verbs())
	got, err = s.Exec(t.Context(), r, []string{"list"}, []string{"b"}).AsInt64()
	require.NoError(t, err)
	assert.EqualValues(t, 2, got, "it ran once for each call")
	assert.Equal(t, []string{"EVALSHA"}, r.verbs())
}

func TestExecFreshTakesAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	for want := range int64(2) {
		got, err := s.ExecFresh(t.Context(), r, []string{"list"}, []string{"a"}).AsInt64()
		require.NoError(t, err)
		assert.Equal(t, want+1, got)
	}
	assert.Equal(t, []string{"EVALSHA+", "EVAL+", "EVALSHA+"}, r.verbs())
}

// TestALargeCallIsSentOnce also to a server that does not know the script.
func TestALargeCallIsSentOnce(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	require.NoError(t, s.ExecFresh(t.Context(), r, []string{"list"}, []string{strings.Repeat("x", 1<<20)}).Error())
	assert.Equal(t, []string{"EVAL+"}, r.verbs())
}

func TestExecReturnsAnErrorOfTheScriptWithoutAnotherSend(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	require.NoError(t, r.Client.Do(t.Context(), r.B().Set().Key("list").Value("text").Build()).Error())
	s := scripts.Must(testdata, "testdata/append.lua")
	require.NoError(t, s.Exec(t.Context(), r, []string{"other"}, []string{"a"}).Error())
	r.verbs()
	assert.ErrorContains(t, s.Exec(t.Context(), r, []string{"list"}, []string{"a"}).Error(), "WRONGTYPE")
	assert.Equal(t, []string{"EVALSHA"}, r.verbs())
}

func TestExecMultiAnswersEachCallInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	calls := []scripts.Call{
		{Keys: []string{"one"}, Args: []string{"a"}},
		{Keys: []string{"two"}, Args: []string{"a"}},
		{Keys: []string{"one"}, Args: []string{"b"}},
	}
	assert.Equal(t, []int64{1, 1, 2}, numbers(t, s.ExecMulti(t.Context(), r, false, calls)))
	assert.Equal(t, []string{"EVALSHA EVALSHA EVALSHA", "EVAL EVAL EVAL"}, r.verbs())
	assert.Equal(t, []int64{3, 2, 4}, numbers(t, s.ExecMulti(t.Context(), r, true, calls)))
	assert.Equal(t, []string{"EVALSHA+ EVALSHA+ EVALSHA+"}, r.verbs())
}

// forgetful answers NOSCRIPT to the second command of a pipeline, as a server
// does that lost its scripts meanwhile.
type forgetful struct{ *recorder }

func (f forgetful) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if len(cmds) > 1 && cmds[1].Commands()[0] == "EVALSHA" {
		cmds[1] = f.B().Arbitrary("EVALSHA").Args("ffffffffffffffffffffffffffffffffffffffff", "0").Build()
	}
	return f.recorder.DoMulti(ctx, cmds...)
}

func TestExecMultiRepeatsOnlyTheCallsThatDidNotRun(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	require.NoError(t, s.Exec(t.Context(), r, []string{"warm"}, []string{"a"}).Error())
	r.verbs()
	results := s.ExecMulti(t.Context(), forgetful{r}, false, []scripts.Call{
		{Keys: []string{"one"}, Args: []string{"a"}},
		{Keys: []string{"two"}, Args: []string{"a"}},
		{Keys: []string{"one"}, Args: []string{"b"}},
	})
	assert.Equal(t, []int64{1, 1, 2}, numbers(t, results))
	assert.Equal(t, []string{"EVALSHA EVALSHA EVALSHA", "EVAL"}, r.verbs())
}

func numbers(t *testing.T, results []rueidis.RedisResult) (ns []int64) {
	t.Helper()
	for _, res := range results {
		n, err := res.AsInt64()
		require.NoError(t, err)
		ns = append(ns, n)
	}
	return ns
}

// WAIT counts the writes of its own connection only, so it has to be behind
// the run that wrote, also where that takes a second send.
func TestExecAckedWaitsBehindEachSend(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := scripts.Must(testdata, "testdata/append.lua")
	for want := range int64(2) {
		res, acks := s.ExecAcked(t.Context(), r, []string{"list"}, []string{"a"}, 3, 250)
		got, err := res.AsInt64()
		require.NoError(t, err)
		assert.Equal(t, want+1, got)
		assert.NoError(t, acks.Error())
	}
	assert.Equal(t, []string{"WAIT", "3", "250"}, r.calls[0][1].args)
	assert.Equal(t, []string{"EVALSHA WAIT+", "EVAL WAIT+", "EVALSHA WAIT+"}, r.verbs())
}
