package core

import (
	"context"
	"log/slog"
)

// programs is the handler of a client without a logger of its own: Warn and
// Error go to slog.Default, as it is when they are logged.
type programs struct {
	dress func(slog.Handler) slog.Handler
}

// Enabled reports whether the level is one that goes there.
func (p programs) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && slog.Default().Enabled(ctx, level)
}

// Handle logs.
func (p programs) Handle(ctx context.Context, r slog.Record) error {
	return p.dressed(slog.Default().Handler()).Handle(ctx, r)
}

// WithAttrs returns a handler with more attributes.
func (p programs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return programs{func(h slog.Handler) slog.Handler { return p.dressed(h).WithAttrs(attrs) }}
}

// WithGroup returns a handler whose further attributes are in a group.
func (p programs) WithGroup(name string) slog.Handler {
	return programs{func(h slog.Handler) slog.Handler { return p.dressed(h).WithGroup(name) }}
}

func (p programs) dressed(h slog.Handler) slog.Handler {
	if p.dress == nil {
		return h
	}
	return p.dress(h)
}
