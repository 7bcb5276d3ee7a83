// Package scripts loads Lua scripts, checks their headers and runs them once:
// EVALSHA, and EVAL where the server does not know the script yet. It never
// sends twice by itself: the Replay line of the header says whether the caller
// may, and package send owns that loop.
package scripts

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// Script is one operation on the server. Scripts are immutable. A script is read when it is
// first used.
type Script struct {
	Name string // the file's name without folder and ending
	text func() text
}

// text is a script as it is sent.
type text struct {
	header Header
	body   string // with the parts that it includes
	sha    string
}

// Must returns the script in a file of fsys. A program pays only for the scripts that it uses:
// the file is read at the first use. That panics if the file is not there, its header is
// malformed, or a part that it includes is missing. A test reads every file.
func Must(fsys fs.FS, file string) *Script {
	return &Script{
		Name: strings.TrimSuffix(path.Base(file), ".lua"),
		text: sync.OnceValue(func() text { return mustRead(fsys, file) }),
	}
}

func mustRead(fsys fs.FS, file string) text {
	body, err := Read(fsys, file)
	if err != nil {
		panic(err.Error())
	}
	header, err := ParseHeader(body)
	if err != nil {
		panic(file + ": " + err.Error())
	}
	sum := sha1.Sum([]byte(body))
	return text{header, body, hex.EncodeToString(sum[:])}
}

// Header returns what the comment at the top of the script promises.
func (s *Script) Header() Header { return s.text().header }

// Body returns the text of the script, with the parts that it includes.
func (s *Script) Body() string { return s.text().body }

func (s *Script) sha() string { return s.text().sha }

// Label returns the script's name.
func (s *Script) Label() string { return s.Name }

// Repeatable says that a second run of the same call does no harm.
func (s *Script) Repeatable() bool { return s.Header().Replay >= Safe }

// OnlyReads says that the script changes nothing.
func (s *Script) OnlyReads() bool { return s.Header().Replay == Reads }

// LosesNothing says that a lost reply costs no more than not knowing whether the call ran.
func (s *Script) LosesNothing() bool { return s.Header().Replay != Unsafe }

// Exec runs the script once through c.
func (s *Script) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	res := c.Do(ctx, s.build(c, "EVALSHA", s.sha(), keys, args, false))
	if Missing(res) {
		res = c.Do(ctx, s.build(c, "EVAL", s.Body(), keys, args, false))
	}
	return res
}

// ExecFresh runs the script once on a connection of rueidis' blocking pool.
// Where the connection that everybody shares has fallen silent, this one still
// gets through. A call of more than textual bytes takes the text of the script with it:
// beside that much the text is nothing, and a server without the script would be sent
// everything twice.
func (s *Script) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	if bytesOf(keys)+bytesOf(args) > textual {
		return c.Do(ctx, s.build(c, "EVAL", s.Body(), keys, args, true))
	}
	res := c.Do(ctx, s.build(c, "EVALSHA", s.sha(), keys, args, true))
	if Missing(res) {
		res = c.Do(ctx, s.build(c, "EVAL", s.Body(), keys, args, true))
	}
	return res
}

// textual is the length of a call that takes the text of its script with it.
const textual = 256 << 10

func bytesOf(all []string) (n int) {
	for _, one := range all {
		n += len(one)
	}
	return n
}

// Call is one run of a script within a batch.
type Call struct {
	Keys, Args []string
}

// ExecMulti runs the script for each call in one pipeline, on a fresh
// connection if asked to. Calls that meet a server without the script are sent
// again with its text.
func (s *Script) ExecMulti(ctx context.Context, c rueidis.Client, fresh bool, calls []Call) []rueidis.RedisResult {
	results := s.pipeline(ctx, c, fresh, "EVALSHA", s.sha(), calls)
	var missing []int
	for i, res := range results {
		if Missing(res) {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return results
	}
	again := make([]Call, len(missing))
	for j, i := range missing {
		again[j] = calls[i]
	}
	for j, res := range s.pipeline(ctx, c, fresh, "EVAL", s.Body(), again) {
		results[missing[j]] = res
	}
	return results
}

// ExecAcked runs the script and WAIT behind each other on one connection, as
// WAIT asks for the writes of its own connection only. The second result is
// how many replicas had the write in time; it means nothing where the first is
// an error.
func (s *Script) ExecAcked(ctx context.Context, c rueidis.Client, keys, args []string, replicas int64, timeoutMs int64) (rueidis.RedisResult, rueidis.RedisResult) {
	wait := func() rueidis.Completed { return c.B().Wait().Numreplicas(replicas).Timeout(timeoutMs).Build() }
	res := c.DoMulti(ctx, s.build(c, "EVALSHA", s.sha(), keys, args, false), wait())
	if Missing(res[0]) {
		res = c.DoMulti(ctx, s.build(c, "EVAL", s.Body(), keys, args, false), wait())
	}
	return res[0], res[1]
}

// ExecMultiAcked runs the script for each call, and WAIT behind them, on one connection.
// The second result is how many replicas had all of the writes in time. A server without
// the script is sent all calls again with its text, so the calls have to be replayable.
func (s *Script) ExecMultiAcked(ctx context.Context, c rueidis.Client, calls []Call, replicas, timeoutMs int64) ([]rueidis.RedisResult, rueidis.RedisResult) {
	send := func(verb, what string) []rueidis.RedisResult {
		cmds := make([]rueidis.Completed, len(calls), len(calls)+1)
		for i, call := range calls {
			cmds[i] = s.build(c, verb, what, call.Keys, call.Args, false)
		}
		return c.DoMulti(ctx, append(cmds, c.B().Wait().Numreplicas(replicas).Timeout(timeoutMs).Build())...)
	}
	res := send("EVALSHA", s.sha())
	if slices.ContainsFunc(res, Missing) {
		res = send("EVAL", s.Body())
	}
	return res[:len(calls)], res[len(calls)]
}

// ExecFollowed runs the script, and another one behind it in the same pipeline,
// for the first of its keys; if fresh, on a connection of rueidis' blocking pool, which
// takes no cluster. The second result means nothing where the first is an error.
func (s *Script) ExecFollowed(ctx context.Context, c rueidis.Client, keys, args []string, next *Script, fresh bool) (first, second rueidis.RedisResult) {
	behind := func(verb, what string) rueidis.Completed { return next.build(c, verb, what, keys[:1], nil, fresh) }
	res := c.DoMulti(ctx, s.build(c, "EVALSHA", s.sha(), keys, args, fresh), behind("EVALSHA", next.sha()))
	if Missing(res[0]) {
		res = c.DoMulti(ctx, s.build(c, "EVAL", s.Body(), keys, args, fresh), behind("EVALSHA", next.sha()))
	}
	if first, second = res[0], res[1]; Missing(second) {
		second = c.Do(ctx, behind("EVAL", next.Body()))
	}
	return first, second
}

func (s *Script) pipeline(ctx context.Context, c rueidis.Client, fresh bool, verb, what string, calls []Call) []rueidis.RedisResult {
	cmds := make([]rueidis.Completed, len(calls))
	for i, call := range calls {
		cmds[i] = s.build(c, verb, what, call.Keys, call.Args, fresh)
	}
	if fresh && c.Mode() == rueidis.ClientModeCluster {
		return apart(ctx, c, cmds)
	}
	return c.DoMulti(ctx, cmds...)
}

// mostApart bounds the connections that one batch takes at once. The pool that
// they come from is the hub's, too.
const mostApart = 32

// apart sends each command by itself, some at once. The cluster client takes its
// own ASKING for an answer, and panics, where it follows a slot that moves with
// a pipeline that asks for a connection of its own (rueidis 1.0.79).
func apart(ctx context.Context, c rueidis.Client, cmds []rueidis.Completed) []rueidis.RedisResult {
	results := make([]rueidis.RedisResult, len(cmds))
	var sending sync.WaitGroup
	places := make(chan struct{}, mostApart)
	for i, cmd := range cmds {
		places <- struct{}{}
		sending.Go(func() { // ended by ctx
			results[i] = c.Do(ctx, cmd)
			<-places
		})
	}
	sending.Wait()
	return results
}

func (s *Script) build(c rueidis.Client, verb, what string, keys, args []string, fresh bool) rueidis.Completed {
	cmd := c.B().Arbitrary(verb).Args(what, strconv.Itoa(len(keys))).Keys(keys...).Args(args...)
	if fresh {
		return cmd.Blocking()
	}
	return cmd.Build()
}

// Build returns a call of the script by its hash, for a pipeline with others; if fresh, on a connection of rueidis' blocking
// pool. A server that does not know the script refuses it.
func (s *Script) Build(c rueidis.Client, keys, args []string, fresh bool) rueidis.Completed {
	return s.build(c, "EVALSHA", s.sha(), keys, args, fresh)
}

// Missing reports whether the server refused a call since it does not know the script.
func Missing(res rueidis.RedisResult) bool {
	err, ok := rueidis.IsRedisErr(res.Error())
	return ok && err.IsNoScript()
}
