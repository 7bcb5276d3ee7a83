package rmap

import (
	"context"

	"github.com/redis/rueidis"

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
	if size := s.h.sizeOf(s.key).Load(); size >= mostPageBytes && answersValue[script] {
		bytes = size
	}
	if !s.ids {
		return s.h.e.RunBriefly(ctx, send.Expect(script, bytes), on, append([]string{"0"}, args...))
	}
	request, op := keys.MapDone(s.key, s.h.requests.ID()), send.Operation(send.Identified{Script: script})
	if answersValue[script] { // which the server remembers, so that one of unknown length is read in the end
		op = send.Sized(op, send.Sizing{Writes: true})
	}
	got, err := s.h.e.RunBriefly(ctx, send.Expect(op, bytes), append(on, request), append([]string{memory}, args...))
	if err == nil && !got.Replayed {
		s.h.requests.Forget(s.key, request) // there is no copy of it that may come late
	}
	return got, err
}

// delete drops all keys of a map.
func (s *sender) delete(ctx context.Context, all []string) (send.Answer, error) {
	if s.ids {
		return s.write(ctx, deleteScript, all)
	}
	return s.h.e.Run(ctx, unlink, all, nil)
}

// server returns a name that a server has from its start to its end. One that does
// not tell is taken for the one that it was.
func (s *sender) server(ctx context.Context) (string, error) {
	got, err := found(s.h.e.Run(ctx, serverScript, []string{s.key}, nil))
	if err == nil && !got.there {
		got.text = someServer
	}
	return got.text, err
}

// serverOfAnswer is [sender.server] for an INFO that was sent together with another command.
func serverOfAnswer(res rueidis.RedisResult) (string, error) {
	msg, err := res.ToMessage()
	if rueidis.IsRedisNil(err) {
		return someServer, nil
	}
	if err != nil {
		return "", err
	}
	return msg.ToString()
}

const someServer = "some server"
