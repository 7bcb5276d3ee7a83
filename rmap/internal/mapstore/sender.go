package mapstore

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Sender sends what is about one map.
type Sender struct {
	Hub *Hub
	Key string // the mapped name
	ids bool   // writes have request ids

	announces bool // near caches are told of writes
	Timed     bool // entries may have times to live that the server keeps
}

// Read sends what changes nothing.
func (s *Sender) Read(ctx context.Context, cmd send.Operation, args ...string) (send.Answer, error) {
	return s.Hub.Engine.Run(ctx, cmd, []string{s.Key}, args)
}

// Keys returns those of a script about the hash alone.
func (s *Sender) Keys() []string {
	if s.announces {
		return []string{s.Key, keys.NearLog(s.Key)}
	}
	return []string{s.Key}
}

// command sends a command that changes the map.
func (s *Sender) command(ctx context.Context, cmd *scripts.Command, args ...string) (send.Answer, error) {
	if s.ids {
		return s.Write(ctx, CommandScript, []string{s.Key}, append([]string{cmd.Label()}, args...)...)
	}
	return s.Hub.Engine.RunBriefly(ctx, cmd, []string{s.Key}, args)
}

// Write sends a script that changes the map. It includes done.lua, whose key
// and argument come by themselves.
func (s *Sender) Write(ctx context.Context, script *scripts.Script, on []string, args ...string) (send.Answer, error) {
	bytes := int64(0)
	if size := s.Hub.sizes.Of(s.Key).Load(); size >= hashscan.MostBytes && answersValue[script] {
		bytes = size
	}
	if !s.ids {
		return s.Hub.Engine.RunBriefly(ctx, send.Expect(script, bytes), on, append([]string{"0"}, args...))
	}
	request, op := keys.MapDone(s.Key, s.Hub.Requests.ID()), send.Operation(send.Identified{Script: script})
	if answersValue[script] { // which the server remembers, so that one of unknown length is read in the end
		op = send.Sized(op, send.Sizing{Writes: true})
	}
	return s.Hub.Requests.RunBriefly(ctx, send.Expect(op, bytes), s.Key, request, on, args)
}

// Delete drops all keys of a map.
func (s *Sender) Delete(ctx context.Context, all []string) (send.Answer, error) {
	if s.ids {
		return s.Write(ctx, DeleteScript, all)
	}
	return s.Hub.Engine.Run(ctx, unlink, all, nil)
}

// Server returns a name that a server has from its start to its end.
func (s *Sender) Server(ctx context.Context) (string, error) {
	return hashscan.Server(ctx, s.Hub.Engine, s.Key)
}
