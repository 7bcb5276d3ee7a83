package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobWorkLong = `work takes jobs and runs CMD for each, with its body on standard input, without a
newline. Everything after -- belongs to CMD, as do standard output and error.

CMD ends with 0: the job is done. With anything else the attempt has failed, for
"exit N" and the last line of CMD's standard error; the job is tried again after a
while, or is buried after its last attempt. --attempts and --backoff are terms of the
queue. The queue keeps those that its first workers were given. Without these flags
those of the queue count: 10 attempts, and 1s after the first one, twice that after
each further one, 10m at most. A worker that is given others does nothing and ends
with 64; "job terms" changes them.

A job is this worker's under a lease, which is renewed while CMD runs. If the worker is
killed, so is CMD on Linux, and another worker has the job when the lease has ended, as
its next attempt. When a lease can no longer be trusted here, which is before the server
gives the job to another, the job is lost: CMD gets SIGTERM, and SIGKILL if it is still
there after --grace. Nobody waits for that: a job is done at least once, and may now and
then be done twice, so CMD should bear it.

Signals. INT, TERM, HUP and QUIT let no CMD begin any more: jobs that no CMD has seen
go back at once. Those that run have --grace to end, and are ended then, as at a second
signal, by SIGTERM and a second later SIGKILL; their jobs go back, and the attempt does
not count. Each CMD has a process group of its own, so Ctrl-C does not reach it. USR1
and USR2 are passed on to those that run.

--for D stops after D in the same way. Standard error has a line when the server is lost,
and one when it is back. If --for is over while it is away, the exit code is 69.

--drain ends as soon as nothing is ready: what is delayed, waits for its next attempt or
is another worker's is not waited for. The exit code is 1 if a job failed for good
meanwhile: it was buried, by this worker or another, or with --dead stays dead.

--dead does the dead jobs, the one that was buried first before the others. With 0 such
a job is gone. With anything else it stays dead, for the new cause, and --dead does it
again after the backoff of that attempt.

Environment of CMD:
  RUEIDISSON_JOB      the job's id
  RUEIDISSON_ATTEMPT  1 for the first attempt
  RUEIDISSON_DELIVERY the number of this delivery: each later one, of any job, is higher.
                      A store can refuse what comes with a lower one for the same job
  RUEIDISSON_REDIS    the server's URL, without its password unless --export-password
                      is given: see "rueidisson --help"

What became of a job that is not done is said on standard error. With --json each one
is an object there: {"id", "attempt", "outcome" (done, retried, dead, released, lost,
unknown), "exit", "took_ms", "error"}; exit is -1 if CMD had none.

Exit codes:
  0    a signal ended it, --for is over, or --drain found nothing more
  1    with --drain: a job failed for good
  76   with --for or --drain: a job was lost
  126  CMD cannot be executed
  127  CMD was not found
  see "rueidisson job --help" for the others`

const jobWorkExample = `  rueidisson job work mails -- ./send-mail
  rueidisson job work photos --concurrency 4 --lease 10s -- sh -c 'read -r f; convert "$f" "$f.jpg"'
  rueidisson job work imports --drain --attempts 3 --backoff 10s -- ./import
  rueidisson job work imports --dead --drain -- ./import-by-hand`

const (
	envJob      = "RUEIDISSON_JOB"
	envAttempt  = "RUEIDISSON_ATTEMPT"
	envDelivery = "RUEIDISSON_DELIVERY"

	// longestBackoff bounds what the pauses grow to.
	longestBackoff = 10 * time.Minute
	// respite is between SIGTERM and SIGKILL of a CMD whose grace is over.
	respite = time.Second
)

// worker is what job work was asked to do, and what it does.
type worker struct {
	*jobCall
	argv        []string
	path        string   // of CMD
	cmdEnv      []string // its environment, without what is of a job
	export      bool     // the password
	concurrency int
	lease       time.Duration
	attempts    int
	backoff     time.Duration
	length      time.Duration // 0: until it is told
	grace       time.Duration
	drain       bool
	dead        bool // those that are dead
	fair        bool // every priority has its turn

	mu       sync.Mutex
	stopping bool  // no CMD begins any more
	cut      bool  // those that run are ended
	lost     bool  // a job was
	failed   int64 // so many jobs are dead after an attempt here
	running  map[*run.Child]bool
}

func (j *jobCall) workCommand() *cobra.Command {
	w := &worker{jobCall: j, running: map[*run.Child]bool{}}
	cmd := &cobra.Command{
		Use:                   "work NAME [flags] -- CMD [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command for each job",
		Long:                  jobWorkLong,
		Example:               jobWorkExample,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			_, w.argv, err = run.SplitArgs(cmd, args)
			return err
		},
		RunE: w.checkAndWork,
	}
	f := cmd.Flags()
	f.IntVar(&w.concurrency, "concurrency", 1, "run `N` at the same time")
	f.DurationVar(&w.lease, "lease", 0, "renew leases of `D`: so long the jobs of a dead worker wait (default: the queue's, or 30s)")
	f.IntVar(&w.attempts, "attempts", 0, "bury a job after its `N`th attempt (default: the queue's, or 10)")
	f.DurationVar(&w.backoff, "backoff", 0, "pause for `D` after the first attempt, twice that after each further one (default: the queue's, or 1s)")
	f.DurationVar(&w.length, "for", 0, "stop after `D` (default: go on until a signal)")
	f.BoolVar(&w.drain, "drain", false, "end when nothing is ready")
	f.BoolVar(&w.fair, "fair", false, "do one job of four of the priorities in turn, so that none starves")
	f.BoolVar(&w.dead, "dead", false, "do the dead jobs")
	server.AddExportFlag(f, &w.export)
	f.DurationVar(&w.grace, "grace", 10*time.Second, "let those that run have `D` to end")
	return cmd
}

func (w *worker) checkAndWork(cmd *cobra.Command, args []string) (err error) {
	switch {
	case w.concurrency < 1 || w.concurrency > 10_000:
		return exit.Usagef("--concurrency %d is not between 1 and 10000", w.concurrency)
	case w.backoff < 0 || w.backoff > longestBackoff:
		return exit.Usagef("--backoff %v is not between 0 and %v", w.backoff, longestBackoff)
	case w.grace < 0:
		return exit.Usagef("--grace %v is negative", w.grace)
	case cmd.Flags().Changed("for") && w.length <= 0:
		return exit.Usagef("--for %v is not positive", w.length)
	}
	if w.path, err = exec.LookPath(w.argv[0]); err != nil {
		return &exit.Error{Code: run.NotRunnable(err), Err: err}
	}
	if w.cmdEnv, err = w.EnvOfCMD(w.Env, w.export, envJob, envAttempt, envDelivery); err != nil {
		return err
	}
	var opts []reliable.Option
	if cmd.Flags().Changed("lease") {
		opts = append(opts, reliable.WithLease(w.lease))
	}
	if cmd.Flags().Changed("attempts") {
		opts = append(opts, reliable.WithMaxAttempts(w.attempts))
	}
	if cmd.Flags().Changed("backoff") {
		opts = append(opts, reliable.WithBackoff(doubling(w.backoff)))
	}
	if w.fair {
		opts = append(opts, reliable.WithFairPriorities())
	}
	return w.with(args[0], func(q *jobs) error {
		if w.dead {
			q = q.Dead()
		}
		return w.Present(cmd.Context(), func(p *tool.Presence) error { return w.run(cmd.Context(), p, q) })
	}, opts...)
}

var errWorked = errors.New("it has worked for as long as was asked")

// run works until it is told to stop, and returns when the last CMD has ended.
func (w *worker) run(ctx context.Context, p *tool.Presence, q *jobs) error {
	taking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var before reliable.Stats
	if w.drain {
		var err error
		if before, err = q.Stats(ctx); err != nil {
			return err
		}
	}
	again := make(chan struct{}, 1)
	relay := run.Catch(func(sig os.Signal) { w.heard(taking, stop, again, sig) })
	defer relay.Stop()
	if w.length > 0 {
		defer time.AfterFunc(w.length, func() { stop(errWorked) }).Stop()
	}
	all := make(chan struct{})
	go func() { // ends with the last CMD
		defer close(all)
		var hands sync.WaitGroup
		for range w.concurrency {
			hands.Go(func() {
				if err := w.work(ctx, taking, q); err != nil {
					stop(err)
				}
			})
		}
		hands.Wait()
	}()
	w.await(taking, all, again)
	switch cause := context.Cause(taking); {
	case taking.Err() == nil, errors.Is(cause, errWorked):
		if w.lost {
			return &exit.Error{Code: exit.Lost, Err: fmt.Errorf("job of %q: %w", q.Name(), reliable.ErrLost)}
		}
		if taking.Err() != nil {
			if err := p.Over(); err != nil {
				return err
			}
		}
		return w.drained(ctx, q, before)
	case errors.As(cause, new(run.Interrupted)):
		return nil
	default:
		return cause
	}
}

// drained returns how a --drain ends, nil for other runs. It says why there was nothing to do, or may have been.
func (w *worker) drained(ctx context.Context, q *jobs, before reliable.Stats) error {
	if !w.drain {
		return nil
	}
	now, err := q.Stats(ctx)
	if err != nil {
		return err
	}
	if now.Paused {
		w.Say("%s is paused", q.Name())
	}
	if n := max(now.Buried-before.Buried, w.failed); n > 0 {
		return &exit.Error{Code: exit.Refused, Err: fmt.Errorf("%d of the jobs of %q failed for good: see rueidisson job dead", n, q.Name())}
	}
	return nil
}

// heard handles a signal.
func (w *worker) heard(taking context.Context, stop context.CancelCauseFunc, again chan<- struct{}, sig os.Signal) {
	switch {
	case !slices.Contains(run.EndingSignals, sig):
		for _, c := range w.under() {
			c.Signal(sig)
		}
	case taking.Err() == nil:
		stop(run.Interrupted{Signal: sig})
	default:
		select {
		case again <- struct{}{}:
		default:
		}
	}
}

// await waits for the last CMD, and ends those that are too slow for it.
func (w *worker) await(taking context.Context, all, again <-chan struct{}) {
	select {
	case <-all:
		return
	case <-taking.Done():
	}
	w.mu.Lock()
	w.stopping = true
	w.mu.Unlock()
	timer := time.NewTimer(w.grace)
	defer timer.Stop()
	select {
	case <-all:
		return
	case <-timer.C:
	case <-again:
	}
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	for _, c := range w.under() {
		go c.End(respite) // ends with CMD
	}
	<-all
}

// under returns the CMDs that run.
func (w *worker) under() (all []*run.Child) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.running {
		all = append(all, c)
	}
	return all
}

// work does one job after the other, until taking ends.
func (w *worker) work(ctx, taking context.Context, q *jobs) error {
	next := q.Receive
	if w.drain {
		next = q.Poll
	}
	for {
		m, err := next(taking)
		switch {
		case err == nil:
			err = w.do(ctx, m)
		case taking.Err() != nil, errors.Is(err, reliable.ErrEmpty):
			return nil
		}
		if err != nil {
			return err
		}
	}
}
