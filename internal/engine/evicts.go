package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// evictions is which masters evict keys with a time to live when their memory
// is full, as of when the client was made: a hold that is evicted is given to
// the next one who asks, while its holder works.
type evictions struct {
	mu       sync.Mutex
	policies map[string]string // by address, "" where there is one master
}

// evicting reports whether a maxmemory-policy takes keys with a time to live.
func evicting(policy string) bool {
	return strings.HasPrefix(policy, "volatile-") || strings.HasPrefix(policy, "allkeys-")
}

// learnEvictions finds out, and says so in the log, once. Info is the answer
// to INFO where there is one master. Those of a cluster are asked in the
// background, each for itself: one that is silent delays nobody.
func (e *Engine) learnEvictions(ctx context.Context, info string) {
	if !e.cluster {
		e.noteEvictions(map[string]string{"": policyOf(ctx, e.Redis, info)})
		return
	}
	e.spawn(func() {
		ctx, cancel := context.WithTimeout(e.base(), time.Second)
		defer cancel()
		e.noteEvictions(e.askPolicies(ctx))
	})
}

// askPolicies asks every master of a cluster.
func (e *Engine) askPolicies(ctx context.Context) map[string]string {
	var mu sync.Mutex
	var asking sync.WaitGroup
	policies := map[string]string{}
	for _, node := range e.topo.masters() {
		asking.Go(func() {
			c := e.topo.reach(node)
			info, _ := c.Do(ctx, c.B().Info().Section("memory").Build()).ToString()
			policy := policyOf(ctx, c, info)
			mu.Lock()
			defer mu.Unlock()
			policies[node] = policy
		})
	}
	asking.Wait()
	return policies
}

// policyOf reads it from INFO, or asks for it where INFO does not tell. A user
// who may do neither is told nothing.
func policyOf(ctx context.Context, c rueidis.Client, info string) string {
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(line, "maxmemory_policy:"); ok {
			return strings.TrimSpace(policy)
		}
	}
	config, _ := c.Do(ctx, c.B().ConfigGet().Parameter("maxmemory-policy").Build()).AsStrMap()
	return config["maxmemory-policy"]
}

func (e *Engine) noteEvictions(policies map[string]string) {
	var found []string
	for node, policy := range policies {
		switch {
		case !evicting(policy):
			delete(policies, node)
		case node == "":
			found = append(found, policy)
		default:
			found = append(found, node+" "+policy)
		}
	}
	e.evictions.mu.Lock()
	e.evictions.policies = policies
	e.evictions.mu.Unlock()
	if len(found) == 0 {
		return
	}
	slices.Sort(found)
	e.Logger.Warn("the server evicts keys with a time to live when its memory is full, and so may give away what is held: "+
		"use noeviction, or a server of its own", "maxmemory-policy", strings.Join(found, ", "))
}

// lossOf returns what the loss of a grant is told as. One that has gone from a
// server which evicts keys may have been evicted.
func (t *Grant) lossOf(cause error) error {
	loss := lossOf(cause)
	if !errors.Is(cause, watchdog.ErrGone) || errors.Is(cause, ErrLost) {
		return loss
	}
	if policy := t.e.evicts(t.Key()); policy != "" {
		return fmt.Errorf("%w (it may have been evicted: the server's maxmemory-policy is %s)", loss, policy)
	}
	return loss
}

// evicts returns the policy of the server of a key, if that evicts.
func (e *Engine) evicts(key Key) string {
	node := e.topo.node(e.topo.slot(key.Name))
	e.evictions.mu.Lock()
	defer e.evictions.mu.Unlock()
	return e.evictions.policies[node]
}
