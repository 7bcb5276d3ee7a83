package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a new terminal.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

func TestATerminalShowsEachShard(t *testing.T) {
	screen, tty := openTerminal(t)
	shown := make(chan string)
	// Ends when the last end of tty is closed: the read fails then.
	go func() {
		all, _ := io.ReadAll(screen)
		shown <- string(all)
	}()
	var out bytes.Buffer
	assert.Equal(t, 0, run([]string{"-shards", "3", "-load", "100ms"}, &out, tty))
	require.NoError(t, tty.Close())
	text := <-shown
	assert.Contains(t, text, "shard  2  ████████████████████  started")
	assert.NotContains(t, out.String(), "█")
}
