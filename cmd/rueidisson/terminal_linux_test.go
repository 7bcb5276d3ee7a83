package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// zombie reports whether a process has ended and nobody has asked about it yet,
// as in a container whose first process does not.
func zombie(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, fields, _ := bytes.Cut(stat, []byte(") "))
	return fields[0] == 'Z'
}

// openTerminal returns the two ends of a new terminal.
func openTerminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

// onTerminal runs a script under the lock, in the foreground of a terminal.
func (w world) onTerminal(script string) (p *process, keyboard *os.File) {
	w.t.Helper()
	keyboard, tty := openTerminal(w.t)
	cmd := exec.Command(os.Args[0], "lock", w.name, "--watchdog", "6s", "--", "sh", "-c", script)
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return startCommand(w.t, w.url, cmd), keyboard
}

func TestOnATerminalCtrlCReachesTheCommandOnce(t *testing.T) {
	w := newWorld(t)
	p, keyboard := w.onTerminal(waiter(`n=0; trap 'n=$((n+1)); echo "int $n"' INT; trap "exit 9" USR1`))
	p.await("ready")
	_, err := keyboard.WriteString("\x03")
	require.NoError(t, err)
	p.await("int 1")
	p.signal(syscall.SIGUSR1) // behind the Ctrl-C in the tool's line
	assert.Equal(t, 9, p.code())
	assert.NotContains(t, p.said(), "int 2")
}

func TestOnATerminalTheCommandReadsWhatIsTyped(t *testing.T) {
	w := newWorld(t)
	p, keyboard := w.onTerminal(`echo ready; read line; echo "read $line"`)
	p.await("ready")
	_, err := keyboard.WriteString("hello\n")
	require.NoError(t, err)
	p.await("read hello")
	assert.Zero(t, p.code())
}

func TestOnATerminalALostLockEndsTheCommandAlone(t *testing.T) {
	w := newWorld(t)
	p, _ := w.onTerminal(waiter(`trap "echo term; exit 0" TERM`))
	p.await("ready")
	w.number("DEL", w.name)
	p.await("term")
	assert.Equal(t, 76, p.code())
}

// TestAValueDoesNothingToATerminal: by itself it is shown as it is, but what would do
// something.
func TestAValueDoesNothingToATerminal(t *testing.T) {
	w := newWorld(t)
	env := []string{envRedis + "=" + w.url}
	queue := w.name + "q"
	t.Cleanup(func() { redistest.Do(t, w.plain, "DEL", w.name, queue) })
	text := hostile + "\nsecond"
	require.Zero(t, runHere(t, env, "map", "put", w.name, "k", text).code)
	require.Zero(t, runHere(t, env, "queue", "add", queue, text, text, text).code)
	for _, args := range [][]string{
		{"map", "get", w.name, "k"}, {"queue", "peek", queue}, {"queue", "take", queue}, {"queue", "drain", queue},
	} {
		keyboard, tty := openTerminal(t)
		var errors heard
		require.Zero(t, cli.Run(t.Context(), args, strings.NewReader(""), tty, &errors, env), errors.String())
		line := make([]byte, 1000)
		n, err := keyboard.Read(line)
		require.NoError(t, err)
		assert.Contains(t, string(line[:n]), `a\x1b]0;owned\a\r`+"\tb"+`\u009b2J\x7f\u202e`+"\r\nsecond\r\n", "%q", args)
	}
}

// TestKeysRemoveAsks at a terminal: how many there are, and whether to remove them.
func TestKeysRemoveAsks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	for _, key := range []string{"session:1", "session:2", "other"} {
		redistest.Do(t, raw, "SET", key, "v")
	}
	run := func(answer string, args ...string) (*process, int) {
		keyboard, tty := openTerminal(t)
		cmd := exec.Command(os.Args[0], append([]string{"keys", "rm"}, args...)...)
		cmd.Stdin = tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		p := startCommand(t, "redis://"+server.Addr(), cmd)
		_, err := keyboard.WriteString(answer)
		require.NoError(t, err)
		code := p.code()
		return p, code
	}
	const question = "remove 2 keys that match session:*? [y/N] "
	for _, no := range []string{"n\n", "\n", "yess\n", "\x04"} {
		p, code := run(no, "session:*")
		assert.Equal(t, exit.Refused, code)
		assert.Equal(t, question+"rueidisson: nothing was removed\n", p.errors())
		assert.Empty(t, p.said())
	}
	p, code := run("", "none*")
	assert.Equal(t, exit.Refused, code)
	assert.Equal(t, []string{"0"}, p.said())
	assert.Empty(t, p.errors())
	p, code = run("Yes\n", "session:*")
	assert.Zero(t, code)
	assert.Equal(t, question+"\n", p.errors()) // the scanner of the test ends each line
	assert.Equal(t, []string{"2"}, p.said())
	_, code = run("y\n", "other", "--json")
	assert.Equal(t, exit.Usage, code)
	assert.Equal(t, "v", value(t, raw, "other"))
}

// TestKeysRemoveIsLeft by a signal while it asks: nothing is removed.
func TestKeysRemoveIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	redistest.Do(t, raw, "SET", "k", "v")
	_, tty := openTerminal(t)
	cmd := exec.Command(os.Args[0], "keys", "rm", "k")
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	p := startCommand(t, "redis://"+server.Addr(), cmd)
	redistest.Eventually(t, func() bool {
		info, err := raw.Do(t.Context(), raw.B().Info().Section("commandstats").Build()).ToString()
		return err == nil && strings.Contains(info, "cmdstat_scan:")
	}, patience, time.Millisecond)
	p.signal(syscall.SIGINT)
	assert.Equal(t, exit.Signal+int(syscall.SIGINT), p.code())
	assert.Equal(t, "v", value(t, raw, "k"))
}

// TestProgressOnATerminal: how many values are in is shown, and taken away at the end.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	keyboard, tty := openTerminal(t)
	env := []string{envRedis + "=redis://" + redistest.Start(t).Addr()}
	var out heard
	require.Zero(t, cli.Run(t.Context(), []string{"set", "add", "s", "-"}, &counting{n: 200_000}, &out, tty, env))
	require.Equal(t, "200000\n", out.String())
	shown, some := "", make([]byte, 1<<16)
	for !strings.HasSuffix(shown, "\x1b[K") {
		n, err := keyboard.Read(some)
		require.NoError(t, err)
		shown += string(some[:n])
	}
	require.Regexp(t, `^(\r[0-9]+ values)+\r\x1b\[K$`, shown)
}
