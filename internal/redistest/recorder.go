package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// ScriptCall is one EVAL or EVALSHA of a script of ours as it went out.
type ScriptCall struct {
	Script     string // the file's name, from the first line of its text
	Header     scripts.Header
	Keys, Args []string
}

// Check fails the test unless the call has as many keys and arguments as the header names, and its keys, of which none
// is empty, are of one slot.
func (c ScriptCall) Check(t testing.TB) {
	t.Helper()
	if err := c.Header.Check(len(c.Keys), len(c.Args)); err != nil {
		t.Errorf("%s: %v", c.Script, err)
	}
	for _, key := range c.Keys {
		if key == "" || Slot(key) != Slot(c.Keys[0]) {
			t.Errorf("%s: %q are of several slots, or empty", c.Script, c.Keys)
		}
	}
}

// ScriptNames returns the scripts that were called, in order.
func ScriptNames(calls []ScriptCall) (names []string) {
	for _, c := range calls {
		names = append(names, c.Script)
	}
	return names
}

// ScriptRecorder is a client that notes which scripts of ours it calls. It learns the text behind a hash from the EVAL
// that follows a NOSCRIPT; on a server that may know the scripts already, [ScriptRecorder.Learn] has to tell it.
type ScriptRecorder struct {
	rueidis.Client
	t testing.TB

	mu            sync.Mutex
	texts         map[string]string // by SHA1
	calls         []ScriptCall
	news          chan struct{}
	before, after func(script string)
}

// RecordScripts notes what client calls.
func RecordScripts(t testing.TB, client rueidis.Client) *ScriptRecorder {
	return &ScriptRecorder{Client: client, t: t, texts: map[string]string{}, news: make(chan struct{}, 1)}
}

// Learn tells the text of a script before it is called.
func (r *ScriptRecorder) Learn(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[scriptSum(text)] = text
}

// Around sets what happens before each call of a script, and when it was answered, from now on. Either may be nil.
func (r *ScriptRecorder) Around(before, after func(script string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.after = before, after
}

// Do returns the client's.
func (r *ScriptRecorder) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	defer r.around(cmd)()
	return r.Client.Do(ctx, cmd)
}

// DoMulti returns the client's.
func (r *ScriptRecorder) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	defer r.around(cmds...)()
	return r.Client.DoMulti(ctx, cmds...)
}

// around notes the calls and does what [ScriptRecorder.Around] wants.
func (r *ScriptRecorder) around(cmds ...rueidis.Completed) (after func()) {
	r.mu.Lock()
	calls := r.note(cmds)
	each := func(do func(script string)) {
		for _, c := range calls {
			if do != nil {
				do(c.Script)
			}
		}
	}
	before, answered := r.before, r.after
	r.mu.Unlock()
	each(before)
	return func() { each(answered) }
}

func (r *ScriptRecorder) note(cmds []rueidis.Completed) (calls []ScriptCall) {
	for _, cmd := range cmds {
		if call, ok := r.callOf(slices.Clone(cmd.Commands())); ok { // rueidis reuses a command once it was sent
			calls = append(calls, call)
		}
	}
	r.calls = append(r.calls, calls...)
	select {
	case r.news <- struct{}{}:
	default:
	}
	return calls
}

// callOf returns the call of a script that a command is; ok is false for all else, such as the probe at start-up.
func (r *ScriptRecorder) callOf(cmd []string) (_ ScriptCall, ok bool) {
	sum := calledScript(cmd)
	if sum == "" {
		return ScriptCall{}, false
	}
	if Command("EVAL", "EVAL_RO")(cmd) {
		r.texts[sum] = cmd[1]
	}
	text := r.texts[sum]
	header, err := scripts.ParseHeader(text)
	if err != nil {
		return ScriptCall{}, false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "-- "), ":")
	n, err := strconv.Atoi(cmd[2])
	if err != nil || n < 0 || n > len(cmd)-3 {
		r.t.Errorf("redistest: %s with %q keys", name, cmd[2])
		return ScriptCall{}, false
	}
	return ScriptCall{Script: name, Header: header, Keys: cmd[3 : 3+n], Args: cmd[3+n:]}, true
}

// Take returns what was called since the last time.
func (r *ScriptRecorder) Take() []ScriptCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// Await waits for a call of script and returns what was called up to then and not taken.
func (r *ScriptRecorder) Await(script string) (calls []ScriptCall) {
	r.t.Helper()
	deadline := time.After(Soon)
	for calls = r.Take(); !slices.Contains(ScriptNames(calls), script); calls = append(calls, r.Take()...) {
		select {
		case <-r.news:
		case <-deadline:
			r.t.Fatalf("redistest: no call of %s, but of %q", script, ScriptNames(calls))
		}
	}
	return calls
}
