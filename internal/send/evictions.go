package send

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
)

// evictions is which masters evict keys with a time to live when their memory
// is full, as of when the client was made: a hold that is evicted is given to
// the next one who asks, while its holder works.
type evictions struct {
	mu       sync.Mutex
	policies map[string]string // by address, "" where there is one master
}

// learnEvictions finds out, and says so in the log, once. Info is the answer
// to INFO where there is one master. Those of a cluster are asked in the
// background, each for itself: one that is silent delays nobody.
func (s *Sender) learnEvictions(ctx context.Context, info string) {
	if !s.Cluster() {
		policy, _ := policyOf(ctx, s.Redis, info)
		s.noteEvictions(map[string]string{"": policy})
		return
	}
	s.Spawn(func() {
		ctx, cancel := context.WithTimeout(s.Base(), time.Second)
		defer cancel()
		policies, _ := s.askPolicies(ctx, new(Question))
		s.noteEvictions(policies)
	})
}

// askPolicies asks every master of a cluster.
func (s *Sender) askPolicies(ctx context.Context, q *Question) (map[string]string, error) {
	var mu sync.Mutex
	var silent []error
	var asking sync.WaitGroup
	policies := map[string]string{}
	for _, node := range s.Topo.masters() {
		asking.Go(func() {
			asked := q.Asks(node)
			c := s.Topo.Reach(node)
			info, err := c.Do(ctx, c.B().Info().Section("memory").Build()).ToString()
			policy := ""
			if err = unanswered(err); err == nil {
				policy, err = policyOf(ctx, c, info)
			}
			if err == nil {
				asked.Answered()
			} else {
				err = asked.Ended(context.Background(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			policies[node] = policy
			silent = append(silent, err)
		})
	}
	asking.Wait()
	return policies, errors.Join(silent...)
}

// unanswered returns err unless it is an answer of the server that stays.
func unanswered(err error) error {
	if _, answer := rueidis.IsRedisErr(err); answer && classify(err) == final {
		return nil
	}
	return err
}

// policyOf reads it from INFO, or asks for it where INFO does not tell. A user
// who may do neither is told nothing. The error is that the server did not answer.
func policyOf(ctx context.Context, c rueidis.Client, info string) (string, error) {
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(line, "maxmemory_policy:"); ok {
			return strings.TrimSpace(policy), nil
		}
	}
	config, err := c.Do(ctx, c.B().ConfigGet().Parameter("maxmemory-policy").Build()).AsStrMap()
	return config["maxmemory-policy"], unanswered(err)
}

func (s *Sender) noteEvictions(policies map[string]string) {
	found := evicting(policies)
	maps.DeleteFunc(policies, func(_, policy string) bool { return !evicts(policy) }) // keys with a time to live stay
	s.evictions.mu.Lock()
	s.evictions.policies = policies
	s.evictions.mu.Unlock()
	if len(found) == 0 {
		return
	}
	s.Logger.Warn("the server evicts keys with a time to live when its memory is full, and so may give away what is held: "+
		"use noeviction, or a server of its own", "maxmemory-policy", strings.Join(found, ", "))
}

// Evicts returns the policy of the server of a key, if that evicts.
func (s *Sender) Evicts(key core.Key) string {
	node := s.Topo.Node(s.Topo.Slot(key.Name))
	s.evictions.mu.Lock()
	defer s.evictions.mu.Unlock()
	return s.evictions.policies[node]
}
