package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
)

// result is what became of a job.
type result struct {
	Name     string `json:"name"`
	Outcome  string `json:"outcome"`
	Exit     int    `json:"exit"`
	WaitedMS int64  `json:"waited_ms"`
	HeldMS   int64  `json:"held_ms"`
	Error    string `json:"error,omitempty"`

	err  error
	over time.Time // when CMD had ended, or could not be run under the lock
}

const (
	outcomeDone        = "done"
	outcomeNotAcquired = "not_acquired"
	outcomeLost        = "lost"
	outcomeInterrupted = "interrupted"
	outcomeFailed      = "failed"
)

// holding is what CMD runs under: the hold of a lock, a term, or a permit.
type holding interface {
	Context(parent context.Context) context.Context
	Fence() (fence.Token, bool)
	Unlock(ctx context.Context) error
}

// run does the job. CMD is looked for first: nobody should wait for an hour to
// learn that its name was misspelt.
func (j *job) run(ctx context.Context) error {
	path, err := exec.LookPath(j.argv[0])
	if err != nil {
		return j.ended(result{Outcome: outcomeFailed, Exit: notRunnable(err), err: err})
	}
	if j.embedded {
		server, err := embedded.Start()
		if err != nil {
			return failed(err)
		}
		defer server.Close()
		j.reachEmbedded(server.URL())
	}
	client, err := j.connect(j.options()...)
	if err != nil {
		return j.ended(failure(err))
	}
	// Signals are the tool's business from here on. Before, there is nothing to
	// clean up, and they may end the process as they like.
	waiting, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	relay := startRelay(func(sig os.Signal) { interruptBy(interrupt, sig) })
	defer relay.stop()
	res := j.lockAndRun(ctx, waiting, client, relay, path)
	leaving, cancel := res.leaving()
	defer cancel()
	if err := within(leaving, func() error { return client.Close(leaving) }); err != nil && res.err == nil {
		res.err = err
	}
	return j.ended(res)
}

func notRunnable(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// failure returns the result for an error of the library.
func failure(err error) result {
	var end *ending
	if !errors.As(err, &end) {
		errors.As(failed(err), &end)
	}
	outcome := outcomeFailed
	switch end.code {
	case exitNotAcquired:
		outcome = outcomeNotAcquired
	case exitLost:
		outcome = outcomeLost
	}
	return result{Outcome: outcome, Exit: end.code, err: end.err}
}

// ended returns the end of the program for a result.
func (j *job) ended(res result) error {
	res.Name = j.name
	if res.Outcome == outcomeNotAcquired {
		res.Exit = j.conflict
	}
	if res.Exit == exitUnavailable {
		res.err = j.naming(res.err)
	}
	if res.err != nil {
		res.Error = res.err.Error()
	}
	if res.Exit != 0 {
		return &ending{code: res.Exit, err: res.err, report: res}
	}
	switch {
	case j.json:
		j.sayJSON(j.stderr, res)
	case res.err != nil:
		j.say("%v", res.err)
	}
	return nil
}

// interrupted is why a wait was ended by a signal.
type interrupted struct{ sig os.Signal }

func (i interrupted) Error() string { return "interrupted: " + i.sig.String() }

func interruptBy(interrupt context.CancelCauseFunc, sig os.Signal) {
	if slices.Contains(endingSignals, sig) {
		interrupt(interrupted{sig})
	}
}

// lockAndRun ends a wait with waiting, and a command with ctx.
func (j *job) lockAndRun(ctx, waiting context.Context, client *rueidisson.Client, relay *relay, path string) (res result) {
	began := time.Now()
	hold, err := j.take(waiting, client)
	acquired := time.Now()
	defer func() { res.WaitedMS = acquired.Sub(began).Milliseconds() }()
	if err != nil && waiting.Err() == nil && j.wait > 0 && failure(err).Outcome == outcomeNotAcquired {
		err = notInTime(err, j.asks(j.name)) // the last refusal may be from before an outage
	}
	if err != nil {
		return whyNot(waiting, err)
	}
	res = j.runUnder(ctx, waiting, hold, relay, path)
	res.HeldMS = time.Since(acquired).Milliseconds()
	return res
}

// whyNot returns the result of a wait that ended without the lock.
func whyNot(waiting context.Context, err error) result {
	if sig, ok := interruptedBy(waiting); ok {
		return result{Outcome: outcomeInterrupted, Exit: signalCode(sig), err: context.Cause(waiting)}
	}
	return failure(err)
}

func interruptedBy(waiting context.Context) (os.Signal, bool) {
	var i interrupted
	if !errors.As(context.Cause(waiting), &i) {
		return nil, false
	}
	return i.sig, true
}

func signalCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitSignal
}

// runUnder runs CMD and gives the lock back.
func (j *job) runUnder(ctx, waiting context.Context, hold holding, relay *relay, path string) result {
	res := j.startAndWatch(ctx, waiting, hold, relay, path)
	res.over = time.Now()
	leaving, cancel := res.leaving()
	defer cancel()
	err := within(leaving, func() error { return hold.Unlock(ctx) })
	switch {
	case res.Outcome == outcomeLost || err == nil:
	case errors.Is(err, lock.ErrLost):
		res.Outcome, res.Exit, res.err = outcomeLost, exitLost, err
	default: // the work is done, and the lock is left to its lease
		res.err = errors.Join(res.err, err)
	}
	return res
}

func (j *job) startAndWatch(ctx, waiting context.Context, hold holding, relay *relay, path string) (res result) {
	env, err := j.childEnv(ctx, hold)
	if err != nil {
		return failure(err)
	}
	var c *child
	relay.to(func() func(os.Signal) {
		if err = waiting.Err(); err != nil {
			res = whyNot(waiting, err) // a signal came together with the lock
			return nil
		}
		if c, err = startChild(j.command(path, env), !hasTerminal()); err != nil {
			res = result{Outcome: outcomeFailed, Exit: notRunnable(err), err: err}
			return nil
		}
		return c.pass
	})
	if err != nil {
		return res
	}
	return j.watch(hold.Context(ctx), c)
}

func (j *job) command(path string, env []string) *exec.Cmd {
	return &exec.Cmd{
		Path: path, Args: j.argv, Env: env,
		Stdin: j.stdin, Stdout: j.stdout.to, Stderr: j.stderr,
	}
}

// childEnv returns the environment of CMD. Tokens that the tool itself was given
// are another hold's.
func (j *job) childEnv(ctx context.Context, hold holding) ([]string, error) {
	env, err := j.envOfCMD(j.env, j.exportPassword, envLock, envToken, envFence, envPermit)
	if err != nil {
		return nil, err
	}
	if j.noun == nounLock {
		env = append(env, envLock+"="+j.name)
	}
	if token, fenced := hold.Fence(); fenced {
		env = append(env, envFence+"="+strconv.FormatInt(token.Number(), 10))
	}
	if p, is := hold.(permitHeld); is {
		env = append(env, envPermit+"="+p.ID())
	}
	if !j.export {
		return env, nil
	}
	token, err := hold.(*lock.Hold).Token(ctx) // nothing else has --export
	if err != nil {
		return nil, err
	}
	return append(env, envToken+"="+token.String()), nil
}

// watch waits for CMD, and ends it if the hold ends first.
func (j *job) watch(work context.Context, c *child) result {
	select {
	case <-c.done:
		return result{Outcome: outcomeDone, Exit: c.code()}
	case <-work.Done():
	}
	cause := context.Cause(work)
	if !errors.Is(cause, lock.ErrLost) {
		c.end(j.grace)
		return result{Outcome: outcomeInterrupted, Exit: c.code(), err: cause}
	}
	if !j.json {
		j.say("%s %q: %v: ending %s", j.noun, j.name, cause, j.argv[0])
	}
	c.end(j.grace)
	return result{Outcome: outcomeLost, Exit: exitLost, err: fmt.Errorf("%s %q: %w", j.noun, j.name, cause)}
}
