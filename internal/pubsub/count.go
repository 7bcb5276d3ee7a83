package pubsub

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// count is how many subscriptions the server says that a connection has, beside how many it must have. One that was
// put in its place has less.
type count struct {
	has map[string]bool // by prefix and name; only who reads the connection uses it
	bad atomic.Pointer[string]
}

var errReplaced = errors.New("pubsub: another connection is in the place of this one")

// heard takes in a confirmation, or that the server has ended a subscription.
func (c *count) heard(s rueidis.PubSubSubscription) {
	if prefix, ended := strings.CutSuffix(s.Kind, "unsubscribe"); ended {
		delete(c.has, prefix+" "+s.Channel)
	} else {
		c.has[strings.TrimSuffix(s.Kind, "subscribe")+" "+s.Channel] = true
	}
	if int64(len(c.has)) != s.Count {
		why := fmt.Sprintf("%d subscriptions, and not %d", s.Count, len(c.has))
		c.bad.CompareAndSwap(nil, &why)
	}
}

// err says whether there was ever another number.
func (c *count) err() error {
	if why := c.bad.Load(); why != nil {
		return fmt.Errorf("%w: it has %s", errReplaced, *why)
	}
	return nil
}

// beside returns a name in the slot of another.
func beside(name string) (string, bool) {
	open := strings.IndexByte(name, '{')
	if open >= 0 && strings.IndexByte(name[open:], '}') > 1 {
		return name + ":" + probeChannel, true
	}
	return "{" + name + "}:" + probeChannel, name != "" && !strings.Contains(name, "}")
}
