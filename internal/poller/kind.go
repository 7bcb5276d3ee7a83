package poller

import (
	"github.com/redis/rueidis"
)

// Kind is a way to take.
type Kind struct {
	// Block is the command that blocks, of which the keys and a timeout follow.
	Block string
	// Pop is the one that does not, of which a key and a number follow.
	Pop string
	// First reads the answer of Block.
	First func(rueidis.RedisMessage) (key string, it Item, err error)
	// Rest reads the answer of Pop.
	Rest func(rueidis.RedisMessage) ([]Item, error)
}

// Item is what was taken.
type Item struct {
	Text  string
	Score float64 // of a sorted set
}

// Head and Tail take from the ends of lists.
var (
	Head = &Kind{Block: "BLPOP", Pop: "LPOP", First: firstOfList, Rest: restOfList}
	Tail = &Kind{Block: "BRPOP", Pop: "RPOP", First: firstOfList, Rest: restOfList}
)

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
