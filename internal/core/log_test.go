package core

import (
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheLogWithoutALogger is not parallel: the default logger is the process's.
func TestTheLogWithoutALogger(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, string(p))
		return len(p), nil
	}), &slog.HandlerOptions{Level: slog.LevelDebug})))
	log := slog.New(programs{})
	log.Debug("a retry")
	log.Info("nothing")
	log.Warn("hold lost", "name", "a")
	log.With("kind", "lock").WithGroup("g").With("b", 1).Error("given up", "err", errors.New("no"))
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `level=WARN msg="hold lost" name=a`)
	require.Contains(t, lines[1], `level=ERROR msg="given up" kind=lock g.b=1 g.err=no`)
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
