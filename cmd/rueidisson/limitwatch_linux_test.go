package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rueidisson/rueidisson/internal/cli"
)

// showOn runs the tool with a terminal of that width as its output, and returns
// all that the terminal was sent.
func (w world) showOn(columns uint16, args ...string) string {
	w.t.Helper()
	screen, tty := openTerminal(w.t)
	require.NoError(w.t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	shown := make(chan []byte)
	// Ends when the last end of tty is closed: the read fails then.
	go func() {
		all, _ := io.ReadAll(screen)
		shown <- all
	}()
	var errors bytes.Buffer
	code := cli.Run(w.t.Context(), args, strings.NewReader(""), tty, &errors, []string{envRedis + "=" + w.url})
	require.NoError(w.t, tty.Close())
	require.Zero(w.t, code, errors.String())
	return string(<-shown)
}

func TestOnATerminalLimitWatchDrawsABar(t *testing.T) {
	w := newWorld(t)
	l := w.limiter()
	_, err := l.For("u").Take(t.Context(), 4)
	require.NoError(t, err)
	got := w.showOn(200, "limit", "watch", w.name, "--key", "u", "--for", "3s", "--interval", "20ms")
	assert.True(t, strings.HasPrefix(got, redrawn+w.name+" for u "+strings.Repeat("█", 6)+strings.Repeat("░", 24)+" 1 of 5 left, full in "), "%q", got)
	assert.True(t, strings.HasSuffix(got, "s\r\n"), "the last line stays: %q", got)
	assert.Equal(t, 1, strings.Count(got, "\n"), "%q", got)
}

func TestOnANarrowTerminalLimitWatchStaysInItsLine(t *testing.T) {
	w := newWorld(t)
	w.limiter()
	got := w.showOn(20, "limit", "watch", w.name, "--for", "2s", "--interval", "20ms")
	for _, line := range strings.Split(strings.TrimSuffix(got, "\r\n"), redrawn)[1:] {
		assert.Len(t, []rune(line), 19, "%q", line)
	}
}

func TestOnATerminalCtrlCEndsLimitWatch(t *testing.T) {
	w := newWorld(t)
	w.limiter()
	keyboard, tty := openTerminal(t)
	cmd := exec.Command(os.Args[0], "limit", "watch", w.name, "--interval", "20ms")
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	p := startCommand(t, w.url, cmd)
	p.awaitLine(0, clock+"5 of 5 left")
	_, err := keyboard.WriteString("\x03")
	require.NoError(t, err)
	assert.Zero(t, p.code())
}

// redrawn begins each look on a terminal: the line is drawn over.
const redrawn = "\r\x1b[K"
