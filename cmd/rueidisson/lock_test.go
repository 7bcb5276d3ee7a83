//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// world is a server, a name that nobody else uses, and a plain client.
type world struct {
	t      *testing.T
	server *redistest.Server
	plain  rueidis.Client
	name   string
	url    string
}

func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	return worldOn(t, redistest.Shared(t))
}

func worldOn(t *testing.T, s *redistest.Server) world {
	return world{t: t, server: s, plain: s.Client(t), name: redistest.Name(t), url: "redis://" + s.Addr()}
}

// sh runs a script under the lock.
func (w world) sh(script string, flags ...string) *process {
	w.t.Helper()
	return start(w.t, w.url, append(append([]string{"lock", w.name}, flags...), "--", "sh", "-c", script)...)
}

func (w world) number(command ...string) int64 {
	w.t.Helper()
	n, err := w.plain.Do(w.t.Context(), w.plain.B().Arbitrary(command[0]).Args(command[1:]...).Build()).AsInt64()
	require.NoError(w.t, err)
	return n
}

func (w world) locked() bool { return w.number("EXISTS", w.name) == 1 }

func (w world) waiting() int64 {
	w.t.Helper()
	channel := keys.LockChannel(w.name)
	n, err := w.plain.Do(w.t.Context(), w.plain.B().PubsubNumsub().Channel(channel).Build()).AsMap()
	require.NoError(w.t, err)
	count := n[channel]
	waiting, err := count.AsInt64()
	require.NoError(w.t, err)
	return waiting
}

func (w world) awaitWaiting(n int64) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return w.waiting() == n }, patience, 5*time.Millisecond)
}

// hold locks the name from here.
func (w world) hold(opts ...lock.LockOption) *lock.Hold {
	w.t.Helper()
	hold, err := w.client().Lock(w.name).Lock(w.t.Context(), opts...)
	require.NoError(w.t, err)
	return hold
}

func (w world) client() *rueidisson.Client {
	w.t.Helper()
	c, err := rueidisson.Open(w.url)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		if err := c.Close(w.t.Context()); err != nil { // what a test leaves held stays so
			w.t.Log(err)
		}
	})
	return c
}

func TestCommandRunsWhileTheLockIsHeldAndItsExitCodeIsTheTools(t *testing.T) {
	w := newWorld(t)
	gate := filepath.Join(t.TempDir(), "gate") // keeps CMD until the test has looked
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	p := w.sh(`echo "$RUEIDISSON_LOCK $RUEIDISSON_REDIS [$RUEIDISSON_TOKEN]"; echo ready; read open < '` + gate + `'; read line; echo "got $line"; exit 7`)
	p.await(w.name + " " + w.url + " []")
	p.await("ready")
	assert.True(t, w.locked())
	require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0))
	assert.Equal(t, 7, p.code()) // its input is empty
	assert.False(t, w.locked())
	assert.Equal(t, "got ", p.said()[2])
	assert.Empty(t, p.errors())
}

func TestStandardInputIsTheCommands(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command(toolPath(), "lock", w.name, "--", "cat")
	cmd.Stdin = strings.NewReader("one\ntwo\n")
	p := startCommand(t, w.url, cmd)
	assert.Zero(t, p.code())
	p.await("two")
}

func TestADeathBySignalIsReportedAsShellsDo(t *testing.T) {
	w := newWorld(t)
	assert.Equal(t, 128+9, w.sh(`kill -9 $$`).code())
	assert.False(t, w.locked())
}

func TestWhatIsBehindTheDashesBelongsToTheCommand(t *testing.T) {
	w := newWorld(t)
	p := start(t, w.url, "lock", w.name, "--", "echo", "--wait", "--", "-x", "lock")
	assert.Zero(t, p.code())
	p.await("--wait -- -x lock")
}

func TestABusyLockIs75AndNothingIsLeftBehind(t *testing.T) {
	w := newWorld(t)
	hold := w.hold()
	for _, wait := range []string{"0", "1s"} {
		p := w.sh(`echo ran`, "--wait", wait)
		assert.Equal(t, 75, p.code())
		assert.Contains(t, p.errors(), "not acquired")
		assert.Empty(t, p.said())
	}
	w.awaitWaiting(0) // the server sees the end of the connection a moment later
	require.NoError(t, hold.Unlock(t.Context()))
	assert.Zero(t, w.sh(`true`, "--wait", "0").code())
}

func TestWithoutWaitItWaitsUntilTheLockIsFree(t *testing.T) {
	w := newWorld(t)
	hold := w.hold()
	p := w.sh(`echo ran`)
	w.awaitWaiting(1)
	require.NoError(t, hold.Unlock(t.Context()))
	assert.Zero(t, p.code())
	p.await("ran")
}

func TestASignalEndsTheWaitAndLeavesNothingBehind(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			w := newWorld(t)
			hold := w.hold()
			p := w.sh(`echo ran`)
			w.awaitWaiting(1)
			p.signal(syscall.SIGUSR1) // this one is only for CMD
			p.signal(sig)
			assert.Equal(t, 128+int(sig), p.code())
			assert.Empty(t, p.said())
			w.awaitWaiting(0)
			require.NoError(t, hold.Unlock(t.Context()))
			assert.False(t, w.locked())
		})
	}
}

func TestSignalsArePassedOnToTheCommand(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
		"QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.sh(waiter(`trap "exit 9" ` + name))
			p.await("ready")
			assert.True(t, w.locked())
			p.signal(sig)
			assert.Equal(t, 9, p.code())
			assert.False(t, w.locked())
		})
	}
}

func TestSignalsReachWhatTheCommandHasStarted(t *testing.T) {
	w := newWorld(t)
	inner := waiter(`trap "echo heard; exit 0" TERM`)
	p := w.sh(`trap : TERM; sh -c '` + inner + `' & wait; wait; exit 5`)
	p.await("ready")
	p.signal(syscall.SIGTERM)
	p.await("heard")
	assert.Equal(t, 5, p.code())
}

func TestAnIgnoredSignalStaysIgnored(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$TOOL" lock "$0" -- sh -c "$1"`, w.name, waiter(`trap "exit 9" USR1`))
	p := startCommand(t, w.url, cmd)
	p.await("ready")
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGUSR1)
	assert.Equal(t, 9, p.code())
}

func TestALostLockEndsTheCommand(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`trap "echo term; exit 0" TERM`), "--watchdog", "3s")
	p.await("ready")
	w.number("DEL", w.name)
	p.await("term")
	assert.Equal(t, 76, p.code(), "although CMD ended well")
	assert.Contains(t, p.errors(), "hold was lost")
}

func TestALostLockEndsWhatTheCommandHasStarted(t *testing.T) {
	w := newWorld(t)
	inner := waiter(`trap "echo heard; exit 0" TERM`)
	p := w.sh(`trap : TERM; sh -c '`+inner+`' & wait; wait; exit 5`, "--watchdog", "3s")
	p.await("ready")
	w.number("DEL", w.name)
	p.await("heard")
	assert.Equal(t, 76, p.code())
}

func TestTheCommandIsEndedBeforeASilentServerGivesTheLockAway(t *testing.T) {
	t.Parallel()
	w := worldOn(t, redistest.Start(t))
	early := false
	for range 3 { // a machine that is busy for a moment may be late, a tool that counts wrongly always is
		p := w.sh(waiter(`trap "echo term; exit 0" TERM`), "--watchdog", "6s")
		p.await("ready")
		expiry := time.UnixMilli(w.number("PEXPIRETIME", w.name)) // or later, if it was renewed since
		w.server.Pause()
		p.await("term")
		left := time.Until(expiry)
		assert.Equal(t, 76, p.code(), "with the server still silent")
		w.server.Resume()
		t.Logf("ended %v before the key", left)
		if early = left > 0; early {
			break
		}
	}
	assert.True(t, early)
}

// soonAfter is more than the second within which the tool follows its command. Waiting for the server took it six and
// more.
const soonAfter = 3 * time.Second

// awaitGone returns when the process has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, patience, 5*time.Millisecond)
}

func TestTheToolEndsWithItsCommandAlthoughTheServerIsSilent(t *testing.T) {
	t.Parallel()
	for title, of := range map[string]struct {
		script string
		flags  []string
		code   int
		says   string
	}{
		"the command ends by itself": {`echo $$; read line; exit 7`, nil, 7, "left to its lease"},
		"the lock is lost":           {`trap "exit 0" TERM; echo $$; while :; do sleep 0.02; done`, []string{"--watchdog", "3s"}, 76, "hold was lost"},
		"an exported hold":           {`echo $$; read line; exit 0`, []string{"--export"}, 0, "left to its lease"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, soonAfter, func() time.Duration {
				w := worldOn(t, redistest.Start(t))
				in, stdin, err := os.Pipe()
				require.NoError(t, err)
				defer in.Close()
				cmd := exec.Command(os.Args[0], append(append([]string{"lock", w.name}, of.flags...), "--", "sh", "-c", of.script)...)
				cmd.Stdin = in
				p := startCommand(t, w.url, cmd)
				require.Eventually(t, func() bool { return len(p.said()) > 0 }, patience, 5*time.Millisecond)
				w.server.Pause()
				require.NoError(t, stdin.Close()) // the end of its input
				awaitGone(t, pid(t, p.said()[0]))
				began := time.Now()
				assert.Equal(t, of.code, p.code())
				took := time.Since(began)
				assert.Contains(t, p.errors(), of.says)
				return took
			})
		})
	}
}

func TestADeadServerLosesTheLock(t *testing.T) {
	t.Parallel()
	w := worldOn(t, redistest.Start(t))
	p := w.sh(waiter(`trap "echo term; exit 0" TERM`), "--watchdog", "3s")
	p.await("ready")
	w.server.Kill()
	p.await("term")
	assert.Equal(t, 76, p.code())
}

func TestACommandThatDoesNotEndIsKilledAfterTheGrace(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`trap "echo term" TERM`), "--watchdog", "3s", "--grace", "2s")
	p.await("ready")
	w.number("DEL", w.name)
	p.await("term")
	assert.Equal(t, 76, p.code())
}

func TestWithoutGraceTheCommandIsKilledAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`trap "" TERM`), "--watchdog", "3s", "--grace", "0")
	p.await("ready")
	w.number("DEL", w.name)
	assert.Equal(t, 76, p.code())
}

func TestAStoppedCommandHearsThatItHasToEnd(t *testing.T) {
	w := newWorld(t)
	p := w.sh(`trap "echo term; exit 0" TERM; echo ready; kill -STOP $$; sleep 0`, "--watchdog", "3s")
	p.await("ready")
	w.number("DEL", w.name)
	p.await("term")
	assert.Equal(t, 76, p.code())
}

func TestAFixedLeaseIsNotRenewed(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`trap "echo term; exit 0" TERM`), "--lease", "3s")
	p.await("term")
	assert.Equal(t, 76, p.code())
}

func TestALossThatShowsOnlyWhenUnlockingIs76(t *testing.T) {
	w := newWorld(t)
	p := w.sh(`"$TOOL" force-unlock "$RUEIDISSON_LOCK"`)
	assert.Equal(t, 76, p.code())
	p.await(w.name + ": taken from its holder")
}

func TestTheSameNameInsideTheCommandWaits(t *testing.T) {
	w := newWorld(t)
	p := w.sh(`"$TOOL" lock "$RUEIDISSON_LOCK" --wait 1s -- echo inside; exit $?`)
	assert.Equal(t, 75, p.code())
	assert.Empty(t, p.said())
	p = w.sh(`"$TOOL" lock "$RUEIDISSON_LOCK-other" --wait 0 -- echo inside; exit $?`)
	assert.Zero(t, p.code())
	p.await("inside")
}

func TestAnExportedHoldCanBeJoined(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`echo "$RUEIDISSON_TOKEN"; trap "exit 0" USR1`), "--export")
	p.await("ready")
	token, err := lock.ParseToken(p.said()[0])
	require.NoError(t, err)
	hold, err := w.client().Lock(w.name).Join(t.Context(), token)
	require.NoError(t, err)
	p.signal(syscall.SIGUSR1)
	assert.Zero(t, p.code())
	assert.True(t, w.locked(), "a level stands")
	require.NoError(t, hold.Unlock(t.Context()))
	assert.False(t, w.locked())
}

func TestATokenOfAnotherHoldIsNotHandedDown(t *testing.T) {
	w := newWorld(t)
	p := w.sh(`"$TOOL" lock "$RUEIDISSON_LOCK-other" -- sh -c 'echo "[$RUEIDISSON_TOKEN]"'`, "--export")
	assert.Zero(t, p.code())
	p.await("[]")
}

func TestAKilledToolLeavesTheLockToItsLease(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`echo $$`), "--watchdog", "5s")
	p.await("ready")
	p.signal(syscall.SIGKILL)
	p.code()
	left := w.number("PTTL", w.name)
	assert.True(t, left > 0 && left <= 5000, "%d ms", left)
	assert.Zero(t, w.sh(`true`, "--wait", "20s").code())
}

func TestAFencedLockGivesTheCommandItsToken(t *testing.T) {
	w := newWorld(t)
	last := int64(0)
	for range 3 {
		p := w.sh(`echo "$RUEIDISSON_FENCE ${RUEIDISSON_TOKEN:-none}"`, "--fenced")
		require.Zero(t, p.code())
		number, token, ok := strings.Cut(p.said()[0], " ")
		require.True(t, ok)
		fence, err := strconv.ParseInt(number, 10, 64)
		require.NoError(t, err)
		require.Greater(t, fence, last)
		require.Equal(t, "none", token)
		last = fence
	}
	p := w.sh(`echo "$RUEIDISSON_FENCE $RUEIDISSON_TOKEN"`, "--fenced", "--export")
	require.Zero(t, p.code())
	require.Regexp(t, `^[0-9]{16} [0-9a-f-]{36}:[0-9]{19}$`, p.said()[0])
	p = w.sh(`echo "${RUEIDISSON_FENCE:-none}"`)
	require.Zero(t, p.code())
	require.Equal(t, "none", p.said()[0], "a plain lock has none, also inside of a fenced one")
}

func TestTheEmbeddedServerIsThereForTheCommand(t *testing.T) {
	t.Parallel()
	p := start(t, "redis://127.0.0.1:1", "lock", "demo", "--embedded", "--", "sh", "-c",
		`"$TOOL" inspect demo --json; "$TOOL" lock demo --wait 0 -- true; exit $?`)
	assert.Equal(t, 75, p.code())
	var f foundJSON
	require.NoError(t, json.Unmarshal([]byte(p.said()[0]), &f))
	assert.True(t, f.Held)
}

func TestTheResultIsOneObjectOnStandardError(t *testing.T) {
	w := newWorld(t)
	done := w.sh(`exit 3`, "--json")
	assert.Equal(t, 3, done.code())
	res := lastResult(t, done)
	assert.GreaterOrEqual(t, res.HeldMS, int64(0))
	res.HeldMS, res.WaitedMS = 0, 0
	assert.Equal(t, resultJSON{Name: w.name, Outcome: "done", Exit: 3}, res)

	hold := w.hold()
	busy := w.sh(`true`, "--json", "--wait", "1s")
	assert.Equal(t, 75, busy.code())
	res = lastResult(t, busy)
	assert.Equal(t, "not_acquired", res.Outcome)
	assert.GreaterOrEqual(t, res.WaitedMS, int64(1000))

	waiting := w.sh(`true`, "--json")
	w.awaitWaiting(1)
	waiting.signal(syscall.SIGINT)
	assert.Equal(t, 130, waiting.code())
	assert.Equal(t, "interrupted", lastResult(t, waiting).Outcome)
	require.NoError(t, hold.Unlock(t.Context()))

	lost := w.sh(waiter(`trap "exit 0" TERM`), "--json", "--watchdog", "3s")
	lost.await("ready")
	w.number("DEL", w.name)
	assert.Equal(t, 76, lost.code())
	assert.Equal(t, "lost", lastResult(t, lost).Outcome)
}

// lastResult waits for the object. The shell may have said before it what became
// of its own commands, the tool has not.
func lastResult(t *testing.T, p *process) (res resultJSON) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.HasSuffix(p.errors(), "}\n") }, patience, time.Millisecond)
	require.NotContains(t, p.errors(), "rueidisson: ")
	lines := strings.Split(strings.TrimSpace(p.errors()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &res))
	return res
}

func pid(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
