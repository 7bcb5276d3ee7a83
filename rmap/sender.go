package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// sender sends what is about one map.
type sender struct {
	h   *hub
	key string // the mapped name
	ids bool   // writes have request ids

	announces bool // near caches are told of writes
	timed     bool // entries may have times to live that the server keeps
}

// read sends what changes nothing.
func (s *sender) read(ctx context.Context, cmd send.Operation, args ...string) (send.Answer, error) {
	return s.h.e.Run(ctx, cmd, []string{s.key}, args)
}

// keys returns those of a script about the hash alone.
func (s *sender) keys() []string {
	if s.announces {
		return []string{s.key, keys.NearLog(s.key)}
	}
	return []string{s.key}
}

// command sends a command that changes the map.
func (s *sender) command(ctx context.Context, cmd *scripts.Command, args ...string) (send.Answer, error) {
	if s.ids {
		return s.write(ctx, commandScript, []string{s.key}, append([]string{cmd.Label()}, args...)...)
	}
	return s.h.e.RunBriefly(ctx, cmd, []string{s.key}, args)
}

// write sends a script that changes the map. It includes done.lua, whose key
// and argument come by themselves.
func (s *sender) write(ctx context.Context, script *scripts.Script, on []string, args ...string) (send.Answer, error) {
	bytes := int64(0)
	if size := s.h.sizeOf(s.key).Load(); size >= hashscan.MostBytes && answersValue[script] {
		bytes = size
	}
	if !s.ids {
		return s.h.e.RunBriefly(ctx, send.Expect(script, bytes), on, append([]string{"0"}, args...))
	}
	request, op := keys.MapDone(s.key, s.h.requests.ID()), send.Operation(send.Identified{Script: script})
	if answersValue[script] { // which the server remembers, so that one of unknown length is read in the end
		op = send.Sized(op, send.Sizing{Writes: true})
	}
	return s.h.requests.RunBriefly(ctx, send.Expect(op, bytes), s.key, request, on, args)
}

// delete drops all keys of a map.
func (s *sender) delete(ctx context.Context, all []string) (send.Answer, error) {
	if s.ids {
		return s.write(ctx, deleteScript, all)
	}
	return s.h.e.Run(ctx, unlink, all, nil)
}

// server returns a name that a server has from its start to its end.
func (s *sender) server(ctx context.Context) (string, error) {
	return hashscan.Server(ctx, s.h.e, s.key)
}
