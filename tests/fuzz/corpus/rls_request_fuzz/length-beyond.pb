
abc