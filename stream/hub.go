package stream

import (
	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// hub is what the streams of one client have in common.
type hub struct {
	e        *locking.Engine
	requests *send.Requests
	poller   *poller.Poller
	posts    places.Places[post, *wait.Door] // where the consumers of a group wait
	tips     *poller.Streams
}

// post is a group of a stream.
type post struct{ key, group string }

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e, requests: send.NewRequests(e.Sender), poller: blocked.Of(e).Poller, tips: poller.NewStreams()}
		h.posts.Make = func(post) *wait.Door { return wait.NewDoor() }
		h.posts.Idle = func(*wait.Door) bool { return true }
		return h
	}).(*hub)
}
