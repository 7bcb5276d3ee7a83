module github.com/rueidisson/rueidisson

go 1.26
