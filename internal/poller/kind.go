package poller

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Kind is a way to take, or to hear of something.
type Kind struct {
	// Block is the command that blocks, of which the keys and a timeout follow, or
	// what Words says.
	Block string
	Words func(keys []string, timeout time.Duration) []string
	// Pop is the one that does not, of which a key and a number follow, or instead of
	// that With.
	Pop  string
	With []string
	// Look is a command that takes nothing, of which a key and LookWith follow, and is
	// refused for the keys for which Pop is: a user who may not run it at all is refused
	// for all of them. Without it Pop is given the number 0, or takes nothing anyway.
	Look     string
	LookWith []string
	// Has is the words of a command that says, without waiting and taking anything, whether a key
	// has something, and Had reads its answer. An answer of nil is no.
	Has func(key string) []string
	Had func(rueidis.RedisMessage) (bool, error)
	// Tells says that nothing is taken: all who stand in line for a name are told
	// that there is something, and look for it themselves.
	Tells bool
	// Alone says that Block waits for one name. Its answer need not have the key.
	Alone bool
	// First reads the answer of Block.
	First func(rueidis.RedisMessage) (key string, it Item, err error)
	// Told reads the answer of Block, if that tells of several keys.
	Told func(rueidis.RedisMessage) (keys []string, err error)
	// Rest reads the answer of Pop.
	Rest func(rueidis.RedisMessage) ([]Item, error)
}

// Blocking returns the words behind Block.
func (k *Kind) Blocking(keys []string, timeout time.Duration) []string {
	if k.Words != nil {
		return k.Words(keys, timeout)
	}
	return append(slices.Clone(keys), Seconds(timeout))
}

// Answer reads the answer of Block: the keys that have something, and the element that was taken.
func (k *Kind) Answer(m rueidis.RedisMessage) (had []string, it Item, err error) {
	if k.Told != nil {
		had, err = k.Told(m)
		return had, it, err
	}
	key, it, err := k.First(m)
	return []string{key}, it, err
}

// Seconds writes a timeout as commands that block take it.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// names returns how many names one command has at most.
func (k *Kind) names() int {
	if k.Alone {
		return 1
	}
	return mostNames
}

// Popping returns the words behind Pop and its key.
func (k *Kind) Popping(n int) []string {
	if k.With != nil {
		return k.With
	}
	return []string{strconv.Itoa(n)}
}

// Item is what was taken.
type Item struct {
	Text  string
	Score float64 // of a sorted set
}

// Head and Tail take from the ends of lists.
var (
	Head = &Kind{Block: "BLPOP", Pop: "LPOP", Has: Length("LLEN"), Had: Some, First: firstOfList, Rest: restOfList}
	Tail = &Kind{Block: "BRPOP", Pop: "RPOP", Has: Length("LLEN"), Had: Some, First: firstOfList, Rest: restOfList}
)

// none is a range that has nothing: a ZPOPMIN of 0 takes all in miniredis.
var none = []string{"1", "0"}

// Lowest and Highest take from the ends of sorted sets.
var (
	Lowest = &Kind{
		Block: "BZPOPMIN", Pop: "ZPOPMIN", Look: "ZREMRANGEBYRANK", LookWith: none, Has: Length("ZCARD"), Had: Some,
		First: firstScored, Rest: restScored,
	}
	Highest = &Kind{
		Block: "BZPOPMAX", Pop: "ZPOPMAX", Look: "ZREMRANGEBYRANK", LookWith: none, Has: Length("ZCARD"), Had: Some,
		First: firstScored, Rest: restScored,
	}
)

// Length returns a [Kind.Has] by a command that counts the elements of a key.
func Length(command string) func(key string) []string {
	return func(key string) []string { return []string{command, key} }
}

// Some reads a count, as [Kind.Had].
func Some(m rueidis.RedisMessage) (bool, error) {
	n, err := m.AsInt64()
	return n > 0, err
}

func firstScored(m rueidis.RedisMessage) (key string, it Item, err error) {
	parts, err := m.ToArray()
	if err == nil && len(parts) != 3 {
		err = fmt.Errorf("an element with its key and score has %d parts", len(parts))
	}
	if err == nil {
		key, err = parts[0].ToString()
	}
	if err == nil {
		it.Text, err = parts[1].ToString()
	}
	if err == nil {
		it.Score, err = parts[2].AsFloat64()
	}
	return key, it, err
}

func restScored(m rueidis.RedisMessage) ([]Item, error) {
	scores, err := m.AsZScores()
	items := make([]Item, len(scores))
	for i, s := range scores {
		items[i] = Item{s.Member, s.Score}
	}
	return items, err
}

func firstOfList(m rueidis.RedisMessage) (key string, it Item, err error) {
	both, err := m.AsStrSlice()
	if err == nil {
		key, it.Text = both[0], both[1]
	}
	return key, it, err
}

func restOfList(m rueidis.RedisMessage) ([]Item, error) {
	texts, err := m.AsStrSlice()
	items := make([]Item, len(texts))
	for i, text := range texts {
		items[i].Text = text
	}
	return items, err
}
