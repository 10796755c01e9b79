# SPDX-License-Identifier: BSD-2-Clause
"""A page that no manual has, in the form that man prints."""

KETTLE = """\
dat_kettle_fill(3DAT)       Functions of the Kitchen       dat_kettle_fill(3DAT)

NAME
       dat_kettle_fill - pour water into a kettle

SYNOPSIS
       cc [ flag... ] file... -lkitchen [ library... ]
       #include <dat/kitchen.h>

       DAT_RETURN
           dat_kettle_fill (
           IN      DAT_KETTLE_HANDLE   kettle,
           IN      DAT_COUNT           litres
           )


PARAMETERS
       kettle
                     The kettle. It may be warm.


       litres
                     How much to pour, one of:

                     KETTLE_HALF
                                      Half of it.


                     KETTLE_FULL
                                      All that it holds.


DESCRIPTION
       The dat_kettle_fill() function pours water, e.g. from the tap, into a kettle that stands on a
       cold stove. A full kettle stays as it is.  kettle_lid is closed after-
       wards.


       Two ways lead there:

           1.     Pour slowly. Listen to the sound while the level
                  rises.

           2.     Pour fast.

   On the Stove
       A kettle on a stove is refused with DAT_INVALID_STATE. uKettle agrees.

RETURN VALUES
       DAT_SUCCESS
                                There is tea.


       DAT_INVALID_
       STATE
                                The stove is hot.


ATTRIBUTES
       See kitchen(5) for what these mean:


       ┌────────────────────────────┬─────────────────────────────┐
       │      ATTRIBUTE TYPE        │       ATTRIBUTE VALUE       │
       ├────────────────────────────┼─────────────────────────────┤
       │Standard                    │ Tea, 1.1 (except            │
       │                            │ KETTLE_HALF)                │
       ├────────────────────────────┼─────────────────────────────┤
       │MT-Level                    │ Unsafe                      │
       └────────────────────────────┴─────────────────────────────┘

SEE ALSO
       dat_cup_fill(3DAT), kitchen(5)

Kitchen 1.0                       1 Jan 2000                dat_kettle_fill(3DAT)
"""
